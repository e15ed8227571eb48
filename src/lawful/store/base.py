"""The port of long-term stores and the operations that they take, at the place where LangGraph has them."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.stores.store_port import Store
    from lawful.stores.store_records import GetOp as GetOp
    from lawful.stores.store_records import IndexConfig as IndexConfig
    from lawful.stores.store_records import Item as Item
    from lawful.stores.store_records import ListNamespacesOp as ListNamespacesOp
    from lawful.stores.store_records import MatchCondition as MatchCondition
    from lawful.stores.store_records import Op as Op
    from lawful.stores.store_records import PutOp as PutOp
    from lawful.stores.store_records import SearchItem as SearchItem
    from lawful.stores.store_records import SearchOp as SearchOp
    from lawful.stores.store_records import TTLConfig as TTLConfig

    BaseStore = Store
else:
    _TABLE = {
        "BaseStore": "lawful.stores.store_port:Store",
        "GetOp": "lawful.stores.store_records",
        "IndexConfig": "lawful.stores.store_records",
        "Item": "lawful.stores.store_records",
        "ListNamespacesOp": "lawful.stores.store_records",
        "MatchCondition": "lawful.stores.store_records",
        "Op": "lawful.stores.store_records",
        "PutOp": "lawful.stores.store_records",
        "SearchItem": "lawful.stores.store_records",
        "SearchOp": "lawful.stores.store_records",
        "TTLConfig": "lawful.stores.store_records",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
