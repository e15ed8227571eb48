"""Setting up a journal's tables: once, by many at once, from an older version, and never halfway."""

from __future__ import annotations

import traceback
from typing import Any

import pytest

from lawful.core.errors import ConfigurationError, NewerSchema, StoreError, ValidationError
from lawful.testing.conformance_kit import at_once, grow
from support.pg import PgServer, skipped

pytestmark = [pytest.mark.integration, pytest.mark.postgres, skipped]


def tables(pg: PgServer, schema: str) -> list[str]:
    rows = pg.run(f"SELECT relname::text FROM pg_class WHERE relnamespace='{schema}'::regnamespace AND relkind='r'")
    return sorted(row[0] for row in rows)


def test_it_may_be_run_again_and_by_many_at_once(pg: PgServer) -> None:
    """Rows: S0-123."""
    from lawful.stores.postgres import setup

    assert at_once(6, lambda n: setup(pg.url(), schema="many")) == [1] * 6
    journal = pg.journal("many")
    grow(journal, "t", 2)
    assert setup(pg.url(), schema="many") == 1
    assert len(journal.history("t")) == 2
    journal.close()


def test_a_step_that_fails_leaves_nothing_of_it(pg: PgServer, schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from lawful.stores import postgres_schema

    before = tables(pg, schema)
    good = "CREATE TABLE @extra(n integer)"
    monkeypatch.setattr(postgres_schema, "MIGRATIONS", (*postgres_schema.MIGRATIONS, (good, "CREATE TABLE @meta()")))
    with pytest.raises(StoreError):
        postgres_schema.setup(pg.url(), schema=schema)
    assert tables(pg, schema) == before
    monkeypatch.undo()
    journal = pg.journal(schema)
    grow(journal, "t", 1)
    journal.close()


def test_an_older_schema_is_brought_up_to_date_and_a_newer_one_refused(
    pg: PgServer, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lawful.stores import postgres_schema

    old = pg.journal(schema)
    grow(old, "t", 3)
    monkeypatch.setattr(
        postgres_schema, "MIGRATIONS", (*postgres_schema.MIGRATIONS, ("CREATE TABLE @extra(n integer)",))
    )
    with pytest.raises(StoreError, match="setup"):
        pg.journal(schema)
    assert postgres_schema.setup(pg.url(), schema=schema) == 2
    assert "extra" in tables(pg, schema)
    assert len(old.history("t")) == 3  # a journal that is open goes on
    old.close()
    new = pg.journal(schema)
    assert len(new.history("t")) == 3
    new.close()
    monkeypatch.undo()
    with pytest.raises(NewerSchema):
        pg.journal(schema)
    with pytest.raises(NewerSchema):
        postgres_schema.setup(pg.url(), schema=schema)


def test_a_schema_that_was_never_set_up_says_what_to_do(pg: PgServer) -> None:
    with pytest.raises(StoreError, match=r"lawful\.stores\.postgres\.setup"):
        pg.journal("nowhere")


def test_two_schemas_are_two_journals(pg: PgServer) -> None:
    one, two = pg.journal(), pg.journal()
    grow(one, "t", 3)
    assert two.chain("t") is None
    grow(two, "t", 1)
    assert [len(journal.history("t")) for journal in (one, two)] == [3, 1]
    one.close()
    two.close()


@pytest.mark.parametrize("name", ["", "Journal", "a-b", 'a"; DROP SCHEMA public; --', "1a", "ä", "a" * 49])
def test_a_schema_needs_a_plain_name(pg: PgServer, name: str) -> None:
    from lawful.stores.postgres import grants, setup

    def named() -> Any:
        from lawful.stores.postgres import PostgresJournal

        return PostgresJournal(pg.url(), schema=name)

    for call in (lambda: setup(pg.url(), schema=name), lambda: grants("app", schema=name), named):
        with pytest.raises(ValidationError):
            call()


def test_a_database_of_another_encoding_is_refused(pg: PgServer) -> None:
    from lawful.stores.postgres import setup

    pg.run("CREATE DATABASE bytes ENCODING 'SQL_ASCII' TEMPLATE template0")
    with pytest.raises(ConfigurationError, match="UTF8"):
        setup(pg.url(database="bytes"))


@pytest.mark.parametrize(
    "url", ["nonsense planted-secret", "postgres//u:planted-secret@h/db", "host=h planted-secret word=x"]
)
def test_a_url_that_is_none_is_refused_without_being_told(pg: PgServer, url: str) -> None:
    """A connection string may hold a password: no error repeats it. Rows: S1-K07."""
    from lawful.stores.postgres import setup

    for call in (lambda: setup(url), lambda: pg.journal("s", url=url)):
        with pytest.raises(ConfigurationError) as caught:
            call()
        assert "planted-secret" not in "".join(traceback.format_exception(caught.value)) + repr(caught.value.to_json())


def test_numbers_of_connections_are_checked(pg: PgServer, schema: str) -> None:
    for name in ("writers", "readers"):
        options: dict[str, Any] = {name: 0}
        with pytest.raises(ConfigurationError):
            pg.journal(schema, **options)


def test_a_scope_that_no_index_holds_is_refused(pg: PgServer, schema: str) -> None:
    journal = pg.journal(schema)
    with pytest.raises(ValidationError):
        journal.scoped("x" * 256)
    grow(journal.scoped("😀" * 255), "😀" * 255, 1, ns="😀" * 5_000)
    assert list(journal.scoped("😀" * 255).namespaces("😀" * 255)) == ["😀" * 5_000]
    journal.close()
