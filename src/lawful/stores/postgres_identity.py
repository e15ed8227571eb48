"""What tells a database from a copy of it: cluster, timeline, and the numbers of the database and of its tables."""

from __future__ import annotations

from typing import Any

from lawful.core.lazy import TYPE_CHECKING, late

if TYPE_CHECKING:
    import psycopg
else:
    psycopg = late("psycopg", extra="postgres")

_MAY = """
SELECT has_function_privilege('pg_control_system()', 'EXECUTE'),
  NOT pg_is_in_recovery() AND has_function_privilege('pg_current_wal_lsn()', 'EXECUTE')
    AND has_function_privilege('pg_walfile_name(pg_lsn)', 'EXECUTE'),
  pg_is_in_recovery()"""
_PLACE = "SELECT d.oid::text, to_regclass(%s)::oid::text FROM pg_database d WHERE d.datname=current_database()"
_CLUSTER = "SELECT system_identifier::text FROM pg_control_system()"
_TIMELINE = "SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)"


def identity(con: psycopg.Connection[Any], schema: str) -> str:
    """Cluster, timeline, database and table, as far as the role may know; "" on a standby, where nothing is claimed.

    Another cluster: restored from a dump, or upgraded by pg_upgrade. Another timeline: recovered from an archive up to some
    moment, or a standby that was promoted. Another database or table: restored beside or over the first. A copy of the
    server's files has all four.
    """

    def one(statement: str, *values: Any) -> tuple[Any, ...]:
        return con.execute(statement.encode(), values).fetchone() or ()

    cluster, timeline, standby = one(_MAY)
    if standby:
        return ""
    database, table = one(_PLACE, f'"{schema}".operation')
    return " ".join(
        (
            f"cluster {one(_CLUSTER)[0] if cluster else '?'}",
            f"timeline {one(_TIMELINE)[0] if timeline else '?'}",
            f"database {database}",
            f"table {table}",
        )
    )
