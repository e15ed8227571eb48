"""LangGraph's names that are not here, by module: what does the same, told where one is imported."""

from __future__ import annotations

from typing import Final

_PLATFORM: Final = "it is of LangGraph's platform, which this library has no part of"
_ENGINE: Final = "it is a part of LangGraph's engine, which has no counterpart here"
_TRACER: Final = "it says what a tracer of LangChain's sees; `on_event=` and `lawful.observe` hear typed events here"
_SERDE: Final = "values are stored by registered codecs: `from lawful import codec`, `codec.register`"
_RECORDS: Final = (
    "journals hold records of their own (lawful.journal.records); JournalSaver of lawful.compat shows LangGraph's"
)
_CIPHER: Final = "wrap the journal: EncryptedJournal(journal, AESGCM(...)) of lawful.stores"
_UI: Final = "it is for the front end of LangGraph's platform; a node's `writer` sends what a front end needs"
_STREAM: Final = "graph.stream_events() and astream_events() give typed events"
_TYPES: Final = "type variables are declared where they are used"
_OLD: Final = "nothing is deprecated here, so there is nothing to filter"
_SHALLOW: Final = "PostgresSaver with journal.prune(...) keeps the newest checkpoint alone"
_RUNTIME: Final = (
    "a tool takes `runtime: Runtime` of lawful.runtime; InjectedState gives it the state, a parameter of type ToolCall"
    " its call"
)

ABSENT: Final[dict[str, dict[str, str]]] = {
    "graph": {"MessageGraph": "StateGraph(MessagesState)"},
    "graph.message": {"MessageGraph": "StateGraph(MessagesState)"},
    "graph.ui": dict.fromkeys(
        ("AnyUIMessage", "RemoveUIMessage", "UIMessage", "delete_ui_message", "push_ui_message", "ui_message_reducer"), _UI
    ),
    "types": {"PregelExecutableTask": _ENGINE, "TracePolicy": _TRACER, "omit_payload": _TRACER},
    "errors": {
        "NodeInterrupt": "call interrupt() of lawful.types",
        "TaskNotFound": _PLATFORM,
        "is_invalid_resume": "an answer of a wrong type is refused with ValidationError before the run goes on",
    },
    "pregel.types": {"PregelExecutableTask": _ENGINE},
    "pregel.protocol": {
        "PregelProtocol": "CompiledStateGraph of lawful.graph.state is the class of every compiled graph",
        "StreamProtocol": _ENGINE,
    },
    "pregel.remote": dict.fromkeys(("RemoteException", "RemoteGraph"), _PLATFORM),
    "runtime": {"BaseUser": _PLATFORM, "ServerInfo": _PLATFORM},
    "managed.base": {"ManagedValueMapping": _ENGINE, "ManagedValueSpec": _ENGINE},
    "constants": {
        "CONF": 'config["configurable"]',
        "CONFIG_KEY_CHECKPOINTER": "a subgraph takes its parent's journal by itself",
        "TAG_HIDDEN": "no tag hides a node; what is to be left out of messages is tagged TAG_NOSTREAM",
        "TASKS": _ENGINE,
    },
    "callbacks": {
        "GraphLifecycleStatus": "str",
        "get_async_graph_callback_manager_for_config": 'handlers are given in config["callbacks"]',
        "get_sync_graph_callback_manager_for_config": 'handlers are given in config["callbacks"]',
    },
    "checkpoint.base": dict.fromkeys(
        (
            "Checkpoint", "CheckpointMetadata", "CheckpointTuple", "DeltaChannelHistory", "copy_checkpoint",
            "create_checkpoint", "empty_checkpoint", "get_checkpoint_id", "get_checkpoint_metadata",
            "get_serializable_checkpoint_metadata",
        ),
        _RECORDS,
    ),
    "checkpoint.memory": {"PersistentDict": "SQLiteJournal(path) of lawful.stores keeps its threads in a file"},
    "checkpoint.postgres": {"BasePostgresSaver": "PostgresSaver", "ShallowPostgresSaver": _SHALLOW},
    "checkpoint.postgres.aio": {"AsyncShallowPostgresSaver": _SHALLOW},
    "checkpoint.serde.base": {"CipherProtocol": _CIPHER, "SerializerProtocol": _SERDE},
    "checkpoint.serde.encrypted": {"EncryptedSerializer": _CIPHER},
    "checkpoint.serde.jsonplus": {"InvalidModuleError": _SERDE, "JsonPlusSerializer": _SERDE},
    "store.base": {
        "Embeddings": "LangChain's own; IndexConfig takes one",
        "NamespaceMatchType": "str: MatchCondition takes \"prefix\" or \"suffix\"",
        "NamespacePath": "tuple[str, ...]",
        "ensure_embeddings": "IndexConfig takes every kind as it is",
        "get_text_at_path": "texts_at of lawful.stores.store_paths",
        "tokenize_path": "path_of of lawful.stores.store_paths",
        "validate_op_namespace": "every operation checks its namespace",
    },
    "cache.redis": {"RedisCache": "SqliteCache of lawful.cache.sqlite, or a class of your own with the calls of BaseCache"},
    "prebuilt": {
        "ToolCallTransformer": _STREAM,
        "ToolRuntime": _RUNTIME,
        "ValidationNode": "arguments of tools are checked before they are called",
        "create_react_agent": "Agent(model, tools=[...]) of lawful.agents",
    },
    "stream": dict.fromkeys(
        (
            "AsyncGraphRunStream", "AsyncSubgraphRunStream", "CheckpointsTransformer", "CustomTransformer",
            "DebugTransformer", "GraphRunStream", "LifecyclePayload", "LifecycleTransformer", "ProtocolEvent",
            "StreamChannel", "StreamTransformer", "SubgraphRunStream", "SubgraphStatus", "SubgraphTransformer",
            "TasksTransformer", "UpdatesTransformer",
        ),
        _STREAM,
    ),
    "typing": dict.fromkeys(("ContextT", "InputT", "OutputT", "StateT", "StateT_co", "StateT_contra"), _TYPES),
    "warnings": dict.fromkeys(
        (
            "LangGraphDeprecatedSinceV05", "LangGraphDeprecatedSinceV10", "LangGraphDeprecatedSinceV11",
            "LangGraphDeprecationWarning",
        ),
        _OLD,
    ),
}  # fmt: skip


def instead(module: str, name: str) -> str | None:
    """What to use in the place of a name that LangGraph has in the module of this path, and ours has not."""
    return ABSENT.get(module.partition(".")[2], {}).get(name)
