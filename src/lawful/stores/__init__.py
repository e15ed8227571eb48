"""What outlives its process: journals, long-term stores and caches; each imported when it is first used."""

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.stores.aes_gcm import AESGCM as AESGCM
    from lawful.stores.encrypted_cache import EncryptedCache as EncryptedCache
    from lawful.stores.encrypted_journal import EncryptedJournal as EncryptedJournal
    from lawful.stores.encrypted_store import EncryptedStore as EncryptedStore
    from lawful.stores.memory_cache import MemoryCache as MemoryCache
    from lawful.stores.memory_store import MemoryStore as MemoryStore
    from lawful.stores.postgres import PostgresJournal as PostgresJournal
    from lawful.stores.postgres_cache import PostgresCache as PostgresCache
    from lawful.stores.postgres_store import PostgresStore as PostgresStore
    from lawful.stores.sqlite import SQLiteJournal as SQLiteJournal
    from lawful.stores.sqlite_cache import SQLiteCache as SQLiteCache
    from lawful.stores.sqlite_store import SQLiteStore as SQLiteStore
    from lawful.stores.store_port import Store as Store

_WHERE = {
    "AESGCM": "lawful.stores.aes_gcm",
    "EncryptedCache": "lawful.stores.encrypted_cache",
    "EncryptedJournal": "lawful.stores.encrypted_journal",
    "EncryptedStore": "lawful.stores.encrypted_store",
    "MemoryCache": "lawful.stores.memory_cache",
    "MemoryStore": "lawful.stores.memory_store",
    "PostgresCache": "lawful.stores.postgres_cache",
    "PostgresJournal": "lawful.stores.postgres",
    "PostgresStore": "lawful.stores.postgres_store",
    "SQLiteCache": "lawful.stores.sqlite_cache",
    "SQLiteJournal": "lawful.stores.sqlite",
    "SQLiteStore": "lawful.stores.sqlite_store",
    "Store": "lawful.stores.store_port",
}
__all__ = [
    "AESGCM",
    "EncryptedCache",
    "EncryptedJournal",
    "EncryptedStore",
    "MemoryCache",
    "MemoryStore",
    "SQLiteCache",
    "SQLiteJournal",
    "SQLiteStore",
    "Store",
]
"""What a star import takes: all but what needs psycopg."""
__getattr__, __dir__ = face(globals(), _WHERE)
