"""What outlives its process: journals, and long-term stores; each imported when it is first used."""

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.stores.memory_store import MemoryStore as MemoryStore
    from lawful.stores.postgres import PostgresJournal as PostgresJournal
    from lawful.stores.postgres_store import PostgresStore as PostgresStore
    from lawful.stores.sqlite import SQLiteJournal as SQLiteJournal
    from lawful.stores.sqlite_store import SQLiteStore as SQLiteStore
    from lawful.stores.store_port import Store as Store

_WHERE = {
    "MemoryStore": "lawful.stores.memory_store",
    "PostgresJournal": "lawful.stores.postgres",
    "PostgresStore": "lawful.stores.postgres_store",
    "SQLiteJournal": "lawful.stores.sqlite",
    "SQLiteStore": "lawful.stores.sqlite_store",
    "Store": "lawful.stores.store_port",
}
__all__ = ["MemoryStore", "PostgresJournal", "PostgresStore", "SQLiteJournal", "SQLiteStore", "Store"]
__getattr__, __dir__ = face(globals(), _WHERE)
