"""The tables of journal, store and cache in PostgreSQL, set up by versioned migrations, and the grants that a role needs."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Any

from msgspec import Struct

from lawful.core.errors import ConfigurationError, NewerSchema, StoreError, ValidationError
from lawful.core.lazy import TYPE_CHECKING, late
from lawful.stores.postgres_errors import translating

if TYPE_CHECKING:
    import psycopg
else:
    psycopg = late("psycopg", extra="postgres")

OLDEST = 130000
"""PostgreSQL 13, for pg_xact_status and xid8."""
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,47}")

# Eight-byte columns first, so that rows have no holes. No foreign keys: each would lock the parent's row with every
# insert, and the threads' own locks already keep a thread from going while it is written to.
_FIRST = (
    "CREATE TABLE @meta(name text PRIMARY KEY, value text NOT NULL)",
    "CREATE TABLE @gate(way boolean)",
    "COMMENT ON TABLE @gate IS 'Has no rows: whoever writes effects holds a lock on it.'",
    """CREATE TABLE @thread(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, created float8 NOT NULL, scope text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL, lineage text COLLATE "C" NOT NULL, UNIQUE (scope, name))""",
    """CREATE TABLE @space(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, thread bigint NOT NULL, key bytea NOT NULL,
  ns text COLLATE "C" NOT NULL, UNIQUE (thread, key))""",
    """CREATE TABLE @checkpoint(
  space bigint NOT NULL, step bigint NOT NULL, at float8 NOT NULL, weight bigint NOT NULL, crc integer NOT NULL,
  source smallint NOT NULL, branch boolean NOT NULL, hidden boolean NOT NULL, id bytea NOT NULL, parent bytea,
  metadata bytea NOT NULL, head bytea NOT NULL, delta bytea NOT NULL, snapshot bytea, refs bytea NOT NULL,
  PRIMARY KEY (space, id))""",
    "CREATE INDEX checkpoint_branch ON @checkpoint(space, parent) WHERE branch",
    """CREATE TABLE @writes(
  space bigint NOT NULL, row bigint GENERATED ALWAYS AS IDENTITY, crc integer NOT NULL, kind smallint NOT NULL,
  checkpoint bytea NOT NULL, task bytea NOT NULL, blob bytea NOT NULL, refs bytea NOT NULL,
  PRIMARY KEY (space, checkpoint, task)) WITH (autovacuum_vacuum_scale_factor=0.05)""",
    """CREATE TABLE @answer(
  space bigint NOT NULL, row bigint GENERATED ALWAYS AS IDENTITY, at float8 NOT NULL, crc integer NOT NULL,
  checkpoint bytea NOT NULL, question bytea NOT NULL, principal text COLLATE "C" NOT NULL, blob bytea NOT NULL,
  PRIMARY KEY (space, checkpoint, question))""",
    """CREATE TABLE @chunk(
  thread bigint NOT NULL, crc integer NOT NULL, digest bytea NOT NULL, body bytea NOT NULL, PRIMARY KEY (thread, digest))""",
    # Room on the page, so that renewals stay off the index.
    """CREATE TABLE @lease(
  fence bigint NOT NULL, expires float8 NOT NULL, asked boolean NOT NULL, scope text COLLATE "C" NOT NULL,
  thread text COLLATE "C" NOT NULL, owner text COLLATE "C", PRIMARY KEY (scope, thread))
  WITH (fillfactor=60, autovacuum_vacuum_scale_factor=0.05)""",
    """CREATE TABLE @operation(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, version bigint NOT NULL, claimed_at float8, lease_until float8,
  updated float8 NOT NULL, crc integer NOT NULL, scope text COLLATE "C" NOT NULL, op_id text COLLATE "C" NOT NULL,
  tool text COLLATE "C" NOT NULL, state text COLLATE "C" NOT NULL, lineage text COLLATE "C" NOT NULL,
  thread text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, args_hash text COLLATE "C" NOT NULL,
  labels bytea NOT NULL, UNIQUE (scope, op_id)) WITH (fillfactor=80)""",
    "CREATE INDEX operation_state ON @operation(scope, state)",
    "CREATE INDEX operation_claimed ON @operation(scope, tool, claimed_at)",
    """CREATE TABLE @event(
  operation bigint NOT NULL, seq bigint NOT NULL, at float8 NOT NULL, crc integer NOT NULL, kind text COLLATE "C" NOT NULL,
  blob bytea NOT NULL, digest bytea NOT NULL, PRIMARY KEY (operation, seq))""",
    """CREATE FUNCTION @event_stays() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'events are never changed and never deleted' USING ERRCODE = 'insufficient_privilege'; END $$""",
    """CREATE TRIGGER event_stays BEFORE UPDATE OR DELETE ON @event
  FOR EACH ROW EXECUTE FUNCTION @event_stays()""",
    """CREATE TRIGGER event_lasts BEFORE TRUNCATE ON @event
  FOR EACH STATEMENT EXECUTE FUNCTION @event_stays()""",
    """CREATE TABLE @mark(
  crc integer NOT NULL, scope text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, value bytea NOT NULL,
  PRIMARY KEY (scope, name))""",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST,)
"""Step n brings a schema from version n to n + 1; it is at version ``len(MIGRATIONS)``."""

# An item is found by a digest of its place, for an index holds only short names; ``head`` is the first bytes of its
# namespace, by which those that begin alike are found.
_FIRST_OF_STORE = (
    """CREATE TABLE @item(
  created float8 NOT NULL, updated float8 NOT NULL, ttl float8, expires float8,
  written bigint GENERATED BY DEFAULT AS IDENTITY, crc integer NOT NULL, place bytea NOT NULL, head bytea NOT NULL,
  scope text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, ns bytea NOT NULL, value bytea NOT NULL,
  PRIMARY KEY (scope, place)) WITH (autovacuum_vacuum_scale_factor=0.05)""",
    "CREATE INDEX item_head ON @item(scope, head)",
    "CREATE INDEX item_expires ON @item(expires) WHERE expires IS NOT NULL",
)
# Its only foreign key: whoever writes vectors has just written their item, and so locks no row of anybody else.
_SECOND_OF_STORE = (
    """CREATE TABLE @vector(
  crc integer NOT NULL, place bytea NOT NULL, scope text COLLATE "C" NOT NULL, body bytea NOT NULL,
  PRIMARY KEY (scope, place), FOREIGN KEY (scope, place) REFERENCES @item ON DELETE CASCADE)
  WITH (autovacuum_vacuum_scale_factor=0.05)""",
)
STORE_MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST_OF_STORE, _SECOND_OF_STORE)
"""As `MIGRATIONS`, for the long-term store, whose version counts by itself."""


_FIRST_OF_CACHE = (
    """CREATE UNLOGGED TABLE @cache(
  expires float8, written bigint GENERATED BY DEFAULT AS IDENTITY, crc integer NOT NULL, place bytea PRIMARY KEY,
  space bytea NOT NULL, value bytea NOT NULL) WITH (autovacuum_vacuum_scale_factor=0.05)""",
    "CREATE INDEX cache_space ON @cache(space)",
    "CREATE INDEX cache_written ON @cache(written)",
    "CREATE INDEX cache_expires ON @cache(expires) WHERE expires IS NOT NULL",
)
CACHE_MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST_OF_CACHE,)
"""As `MIGRATIONS`, for the cache of nodes' results."""


class Kind(Struct, frozen=True):
    """What is set up by itself: its name in the table of versions, and its steps."""

    name: str
    component: str

    @property
    def steps(self) -> tuple[tuple[str, ...], ...]:
        return MIGRATIONS if self is JOURNAL else STORE_MIGRATIONS if self is STORE else CACHE_MIGRATIONS


JOURNAL = Kind("schema", "journal")
STORE = Kind("store", "store")
CACHE = Kind("cache", "cache")

_RUNNING = {
    "meta": "SELECT",
    "gate": "UPDATE",
    **dict.fromkeys(("thread", "space", "checkpoint", "chunk", "answer", "event"), "SELECT, INSERT"),
    "writes": "SELECT, INSERT, UPDATE, DELETE",
    "lease": "SELECT, INSERT, UPDATE",
    "operation": "SELECT, INSERT, UPDATE",
    "mark": "SELECT, INSERT, UPDATE, DELETE",
    "item": "SELECT, INSERT, UPDATE, DELETE",
    "vector": "SELECT, INSERT, DELETE",
    "cache": "SELECT, INSERT, UPDATE, DELETE",
}
_KEEPING = {
    **dict.fromkeys(("thread", "space", "chunk", "answer"), "DELETE"),
    "checkpoint": "UPDATE, DELETE",
}


def check_schema(schema: str) -> str:
    """``schema``, if it is a name that needs no quoting. Raises: ValidationError."""
    if _NAME.fullmatch(schema) is None:
        raise ValidationError(
            f"a schema's name has at most 48 characters of a-z, 0-9 and _, and no digit first; not {schema!a}",
            component="journal",
            operation="schema",
        )
    return schema


def lock_key(*parts: str) -> int:
    """The number of the lock that stands for ``parts``: 64 bits, signed."""
    text = "\x00".join(parts).encode()
    return int.from_bytes(blake2b(text, digest_size=8, person=b"lawful").digest(), "big", signed=True)


def setup(url: str, *, schema: str = "lawful") -> int:
    """Make the tables of journal, store and cache in ``schema`` of the database at ``url``, or bring older ones up to date.

    Gives the journal's version.

    Run it when you deploy, as the role that is to own the tables. It may be run again and by several at once: it works
    in one transaction under a lock, so that it is done whole or not at all. Journals that are open go on meanwhile.

    Raises: NewerSchema; ConfigurationError, for a database that is not UTF-8 or a server before PostgreSQL 13; StoreError.
    """
    check_schema(schema)
    place = f"schema {schema}"
    with translating(place, "set up"), _connected(url) as con, con.transaction():
        _check_server(con)
        con.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key("setup", schema),))
        found = con.execute("SELECT 1 FROM pg_namespace WHERE nspname=%s", (schema,)).fetchone()
        if found is None:
            con.execute(f'CREATE SCHEMA "{schema}"'.encode())
        for kind in (JOURNAL, STORE, CACHE):
            _bring_up(con, schema, place, kind)
    return len(MIGRATIONS)


def _bring_up(con: psycopg.Connection[Any], schema: str, place: str, kind: Kind) -> None:
    stands = con.execute("SELECT to_regclass(%s)", (f'"{schema}".meta',)).fetchone()
    since = _version(con, schema, kind) if stands and stands[0] is not None else 0
    if since > len(kind.steps):
        raise _newer(place, since, kind)
    for step in kind.steps[since:]:
        for statement in step:
            con.execute(_at(statement, schema))
    con.execute(
        _at(
            "INSERT INTO @meta(name, value) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value=excluded.value",
            schema,
        ),
        (kind.name, str(len(kind.steps))),
    )


def grants(role: str, *, schema: str = "lawful", retention: bool = False) -> str:
    """The SQL that lets ``role`` run graphs: it may add to what happened, and neither change nor delete it.

    With ``retention`` it may delete, copy and prune threads as well; records of effects stay even then.
    Run it as the owner of the tables.
    """
    check_schema(schema)
    if not role or "\x00" in role:
        raise ValidationError(f"{role!a} is no role's name", component="journal", operation="grants")
    quoted = '"' + role.replace('"', '""') + '"'
    lines = [f"GRANT USAGE ON SCHEMA {schema} TO {quoted};"]
    for table, rights in (*_RUNNING.items(), *(_KEEPING.items() if retention else ())):
        lines.append(f"GRANT {rights} ON {schema}.{table} TO {quoted};")
    return "\n".join(lines) + "\n"


def _connected(url: str) -> psycopg.Connection[Any]:
    try:
        return psycopg.connect(url, prepare_threshold=None, client_encoding="utf8")
    except psycopg.ProgrammingError:  # whose text may hold the password
        raise ConfigurationError(
            "this is not a PostgreSQL URL or connection string (expected postgresql://user@host:port/database)",
            component="journal",
            operation="set up",
        ) from None


def _check_server(con: psycopg.Connection[Any]) -> None:
    encoding = con.execute("SHOW server_encoding").fetchone()
    if encoding is None or encoding[0] != "UTF8" or con.info.server_version < OLDEST:
        raise ConfigurationError(
            f"a journal needs PostgreSQL 13 or later and a database in UTF8, not {con.info.server_version // 10_000}"
            f" and {encoding[0] if encoding else '?'}",
            component="journal",
            operation="set up",
        )


def _at(statement: str, schema: str) -> bytes:
    return statement.replace("@", f'"{schema}".').encode()


def _version(con: psycopg.Connection[Any], schema: str, kind: Kind) -> int:
    row = con.execute(_at("SELECT value FROM @meta WHERE name=%s", schema), (kind.name,)).fetchone()
    return int(row[0]) if row else 0


def _newer(place: str, found: int, kind: Kind) -> NewerSchema:
    known = len(kind.steps)
    return NewerSchema(
        f"{place} has version {found}, this library knows up to {known}: update lawful to use it",
        component=kind.component,
        operation="open",
        details={"found": str(found), "known": str(known)},
    )


def check_version(con: psycopg.Connection[Any], schema: str, place: str, kind: Kind = JOURNAL) -> None:
    """Refuse a schema of another version. Raises: NewerSchema, StoreError, psycopg.Error."""
    found, known = _version(con, schema, kind), len(kind.steps)
    if found > known:
        raise _newer(place, found, kind)
    if found < known:
        raise StoreError(
            f"{place} has version {found}, this library needs {known}: run lawful.stores.postgres.setup",
            component=kind.component,
            operation="open",
            details={"found": str(found), "needed": str(known)},
        )
