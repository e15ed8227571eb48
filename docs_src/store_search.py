"""Filters are data, pages go from the newest write back, and what is no filter is refused."""

from __future__ import annotations

from lawful.core.errors import InvalidFilter
from lawful.stores.memory_store import MemoryStore
from lawful.stores.store_records import PutOp

store = MemoryStore(ttl={"default_ttl": 60 * 24})
store.batch(
    [
        PutOp(("team", "tickets"), "t1", {"open": True, "weight": 3}),
        PutOp(("team", "tickets"), "t2", {"open": True, "weight": 8}),
        PutOp(("team", "tickets"), "t3", {"open": False, "weight": 5}),
    ]
)
print([item.key for item in store.search(("team",), filter={"open": True, "weight": {"$gte": 3, "$lt": 8}})])
print([item.key for item in store.search(("team",), limit=2)])
try:
    store.search(("team",), filter={"weight": {"$gtt": 3}})
except InvalidFilter as error:
    print(error.message)

other = store.scoped("acme")
print(other.search(()))

# prints: ['t1']
# prints: ['t3', 't2']
# prints: the filter on 'weight' has the unknown operator '$gtt'. Did you mean '$gt'?
# prints: []
