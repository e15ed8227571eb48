"""The public face: each name is imported from its own module when it is first used; nothing else is here."""

from __future__ import annotations

from lawful.core.lazy import face

# A type checker reads this name as true; importing it from typing would cost more than all else here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.agents import Agent as Agent
    from lawful.core import codec as codec
    from lawful.core.errors import Error as Error
    from lawful.core.errors import Failure as Failure
    from lawful.core.questions import Approved as Approved
    from lawful.core.questions import Principal as Principal
    from lawful.core.questions import Question as Question
    from lawful.core.reducers import add_messages as add_messages
    from lawful.core.reducers import append as append
    from lawful.core.reducers import maximum as maximum
    from lawful.core.result import Err as Err
    from lawful.core.result import Ok as Ok
    from lawful.core.result import Result as Result
    from lawful.core.retry import RetryPolicy as RetryPolicy
    from lawful.core.secret import Secret as Secret
    from lawful.core.signals import OutcomeUnknown as OutcomeUnknown
    from lawful.effects import Effect as Effect
    from lawful.effects import Found as Found
    from lawful.effects import Keyed as Keyed
    from lawful.effects import Ledger as Ledger
    from lawful.effects import Lookup as Lookup
    from lawful.effects import Natural as Natural
    from lawful.effects import NotFound as NotFound
    from lawful.effects import Opaque as Opaque
    from lawful.effects import OpaqueEffect as OpaqueEffect
    from lawful.effects import Pending as Pending
    from lawful.effects import Policy as Policy
    from lawful.effects import RequireApproval as RequireApproval
    from lawful.effects import Unavailable as Unavailable
    from lawful.effects import effect as effect
    from lawful.effects import recover as recover
    from lawful.graph import END as END
    from lawful.graph import START as START
    from lawful.graph import UNSET as UNSET
    from lawful.graph import AnyValue as AnyValue
    from lawful.graph import BinaryOperatorAggregate as BinaryOperatorAggregate
    from lawful.graph import CachePolicy as CachePolicy
    from lawful.graph import Command as Command
    from lawful.graph import CompiledStateGraph as CompiledStateGraph
    from lawful.graph import DeltaChannel as DeltaChannel
    from lawful.graph import Done as Done
    from lawful.graph import EphemeralValue as EphemeralValue
    from lawful.graph import Failed as Failed
    from lawful.graph import GraphCallbackHandler as GraphCallbackHandler
    from lawful.graph import GraphOutput as GraphOutput
    from lawful.graph import Interrupt as Interrupt
    from lawful.graph import LastValue as LastValue
    from lawful.graph import LastValueAfterFinish as LastValueAfterFinish
    from lawful.graph import Limits as Limits
    from lawful.graph import MapChannel as MapChannel
    from lawful.graph import MessagesState as MessagesState
    from lawful.graph import NamedBarrierValue as NamedBarrierValue
    from lawful.graph import NamedBarrierValueAfterFinish as NamedBarrierValueAfterFinish
    from lawful.graph import NodeBuilder as NodeBuilder
    from lawful.graph import NodeError as NodeError
    from lawful.graph import Overwrite as Overwrite
    from lawful.graph import Paused as Paused
    from lawful.graph import Pregel as Pregel
    from lawful.graph import PregelTask as PregelTask
    from lawful.graph import RunControl as RunControl
    from lawful.graph import RunResult as RunResult
    from lawful.graph import Runtime as Runtime
    from lawful.graph import Send as Send
    from lawful.graph import StateGraph as StateGraph
    from lawful.graph import StateSnapshot as StateSnapshot
    from lawful.graph import StreamWriter as StreamWriter
    from lawful.graph import TimeoutPolicy as TimeoutPolicy
    from lawful.graph import Topic as Topic
    from lawful.graph import UntrackedValue as UntrackedValue
    from lawful.graph import compose as compose
    from lawful.graph import get_stream_writer as get_stream_writer
    from lawful.graph import interrupt as interrupt
    from lawful.graph import last as last
    from lawful.graph import push_message as push_message
    from lawful.graph import topic as topic
    from lawful.graph import untracked as untracked
    from lawful.graph.functional import entrypoint as entrypoint
    from lawful.graph.functional import task as task
    from lawful.journal.memory import MemoryJournal as MemoryJournal
    from lawful.pipeline import Pipeline as Pipeline
    from lawful.pipeline import identity as identity
    from lawful.pipeline import pure as pure
    from lawful.pipeline import run as run
    from lawful.pipeline import step as step
    from lawful.stores import MemoryCache as MemoryCache
    from lawful.stores import SQLiteCache as SQLiteCache
    from lawful.stores.postgres import PostgresJournal as PostgresJournal
    from lawful.stores.sqlite import SQLiteJournal as SQLiteJournal
    from lawful.tools import Toolset as Toolset
    from lawful.tools import tool as tool
else:
    _TABLE = {
        "Agent": "lawful.agents.agent",
        "Toolset": "lawful.tools.toolset",
        "tool": "lawful.tools.definition",
        "StateGraph": "lawful.graph",
        "START": "lawful.graph",
        "END": "lawful.graph",
        "Send": "lawful.graph",
        "Command": "lawful.graph",
        "interrupt": "lawful.graph",
        "Overwrite": "lawful.graph",
        "Runtime": "lawful.graph",
        "get_stream_writer": "lawful.graph",
        "RetryPolicy": "lawful.core.retry",
        "TimeoutPolicy": "lawful.graph",
        "CachePolicy": "lawful.graph",
        "UNSET": "lawful.graph",
        "CompiledStateGraph": "lawful.graph",
        "StateSnapshot": "lawful.graph",
        "Interrupt": "lawful.graph",
        "Done": "lawful.graph",
        "Paused": "lawful.graph",
        "Failed": "lawful.graph",
        "RunResult": "lawful.graph",
        "Ok": "lawful.core.result",
        "Err": "lawful.core.result",
        "Result": "lawful.core.result",
        "Error": "lawful.core.errors",
        "Failure": "lawful.core.errors",
        "Question": "lawful.core.questions",
        "Principal": "lawful.core.questions",
        "Approved": "lawful.core.questions",
        "append": "lawful.core.reducers",
        "add_messages": "lawful.core.reducers",
        "maximum": "lawful.core.reducers",
        "MemoryJournal": "lawful.journal.memory",
        "SQLiteJournal": "lawful.stores.sqlite",
        "Effect": "lawful.effects",
        "effect": "lawful.effects",
        "Ledger": "lawful.effects",
        "Natural": "lawful.effects",
        "Lookup": "lawful.effects",
        "Found": "lawful.effects",
        "NotFound": "lawful.effects",
        "OutcomeUnknown": "lawful.core.signals",
        "recover": "lawful.effects",
    }
    # Less often needed: found here under LangGraph's names too, but not among the names that are shown.
    _ALSO = dict.fromkeys(
        (
            "PregelTask",
            "StreamWriter",
            "GraphOutput",
            "GraphCallbackHandler",
            "push_message",
            "Pregel",
            "NodeBuilder",
            "DeltaChannel",
            "MapChannel",
            "compose",
            "MessagesState",
            "LastValue",
            "AnyValue",
            "EphemeralValue",
            "UntrackedValue",
            "Topic",
            "BinaryOperatorAggregate",
            "NamedBarrierValue",
            "LastValueAfterFinish",
            "NamedBarrierValueAfterFinish",
            "untracked",
            "last",
            "topic",
        ),
        "lawful.graph",
    )
    _ALSO |= dict.fromkeys(("Limits", "NodeError", "RunControl"), "lawful.graph")
    _ALSO |= dict.fromkeys(("MemoryCache", "SQLiteCache"), "lawful.stores")
    _ALSO |= dict.fromkeys(
        ("Keyed", "Opaque", "OpaqueEffect", "Pending", "Unavailable", "Policy", "RequireApproval"), "lawful.effects"
    )
    _ALSO |= dict.fromkeys(("identity", "pure", "step"), "lawful.pipeline.build")
    _ALSO |= {"Pipeline": "lawful.pipeline.nodes", "run": "lawful.pipeline.machine"}
    _ALSO |= {
        "PostgresJournal": "lawful.stores.postgres",
        "Secret": "lawful.core.secret",
        "codec": "lawful.core.codec:",
    }
    # Not by way of lawful.graph, where `task` is a module.
    _ALSO.update(dict.fromkeys(("entrypoint", "task"), "lawful.graph.functional"))
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), {**_TABLE, **_ALSO})

__version__ = "0.1.0"
