"""State graphs: describe, compile, run, inspect; LangGraph's names throughout."""

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.core.reducers import add_messages as add_messages
    from lawful.core.reducers import append as append
    from lawful.core.retry import RetryPolicy as RetryPolicy
    from lawful.graph.asking import Interrupt as Interrupt
    from lawful.graph.asking import interrupt as interrupt
    from lawful.graph.builder import StateGraph as StateGraph
    from lawful.graph.callbacks import GraphCallbackHandler as GraphCallbackHandler
    from lawful.graph.callbacks import GraphInterruptEvent as GraphInterruptEvent
    from lawful.graph.callbacks import GraphResumeEvent as GraphResumeEvent
    from lawful.graph.channel_forms import BaseChannel as BaseChannel
    from lawful.graph.channel_forms import DeltaChannel as DeltaChannel
    from lawful.graph.channel_forms import MapChannel as MapChannel
    from lawful.graph.channel_forms import compose as compose
    from lawful.graph.channels import AnyValue as AnyValue
    from lawful.graph.channels import BinaryOperatorAggregate as BinaryOperatorAggregate
    from lawful.graph.channels import Channel as Channel
    from lawful.graph.channels import EphemeralValue as EphemeralValue
    from lawful.graph.channels import LastValue as LastValue
    from lawful.graph.channels import LastValueAfterFinish as LastValueAfterFinish
    from lawful.graph.channels import NamedBarrierValue as NamedBarrierValue
    from lawful.graph.channels import NamedBarrierValueAfterFinish as NamedBarrierValueAfterFinish
    from lawful.graph.channels import Topic as Topic
    from lawful.graph.channels import UntrackedValue as UntrackedValue
    from lawful.graph.channels import ephemeral as ephemeral
    from lawful.graph.channels import last as last
    from lawful.graph.channels import topic as topic
    from lawful.graph.channels import untracked as untracked
    from lawful.graph.command import END as END
    from lawful.graph.command import START as START
    from lawful.graph.command import UNSET as UNSET
    from lawful.graph.command import Command as Command
    from lawful.graph.command import Overwrite as Overwrite
    from lawful.graph.command import Send as Send
    from lawful.graph.compiled import AsyncStream as AsyncStream
    from lawful.graph.compiled import CompiledStateGraph as CompiledStateGraph
    from lawful.graph.control import RunControl as RunControl
    from lawful.graph.managed import IsLastStep as IsLastStep
    from lawful.graph.managed import RemainingSteps as RemainingSteps
    from lawful.graph.messages import MessagesState as MessagesState
    from lawful.graph.messages import push_message as push_message
    from lawful.graph.migrations import AcceptNode as AcceptNode
    from lawful.graph.migrations import ConvertKey as ConvertKey
    from lawful.graph.migrations import RenameKey as RenameKey
    from lawful.graph.migrations import RenameNode as RenameNode
    from lawful.graph.outcome import Done as Done
    from lawful.graph.outcome import Failed as Failed
    from lawful.graph.outcome import GraphOutput as GraphOutput
    from lawful.graph.outcome import Paused as Paused
    from lawful.graph.outcome import RunResult as RunResult
    from lawful.graph.policies import CachePolicy as CachePolicy
    from lawful.graph.policies import Limits as Limits
    from lawful.graph.policies import NodeError as NodeError
    from lawful.graph.policies import TimeoutPolicy as TimeoutPolicy
    from lawful.graph.pregel import NodeBuilder as NodeBuilder
    from lawful.graph.pregel import Pregel as Pregel
    from lawful.graph.runtime import Runtime as Runtime
    from lawful.graph.runtime import StreamWriter as StreamWriter
    from lawful.graph.runtime import get_config as get_config
    from lawful.graph.runtime import get_runtime as get_runtime
    from lawful.graph.runtime import get_store as get_store
    from lawful.graph.runtime import get_stream_writer as get_stream_writer
    from lawful.graph.snapshot import PregelTask as PregelTask
    from lawful.graph.snapshot import StateSnapshot as StateSnapshot
    from lawful.graph.streams import StreamMode as StreamMode
    from lawful.graph.updates import StateUpdate as StateUpdate

_WHERE = {
    "lawful.graph.pregel": ("NodeBuilder", "Pregel"),
    "lawful.graph.channel_forms": ("BaseChannel", "DeltaChannel", "MapChannel", "compose"),
    "lawful.graph.updates": ("StateUpdate",),
    "lawful.core.reducers": ("add_messages", "append"),
    "lawful.core.retry": ("RetryPolicy",),
    "lawful.graph.builder": ("StateGraph",),
    "lawful.graph.channels": (
        "AnyValue", "BinaryOperatorAggregate", "Channel", "EphemeralValue", "LastValue", "LastValueAfterFinish",
        "NamedBarrierValue", "NamedBarrierValueAfterFinish", "Topic", "UntrackedValue", "ephemeral", "last", "topic",
        "untracked",
    ),
    "lawful.graph.callbacks": ("GraphCallbackHandler", "GraphInterruptEvent", "GraphResumeEvent"),
    "lawful.graph.command": ("END", "START", "UNSET", "Command", "Overwrite", "Send"),
    "lawful.graph.compiled": ("AsyncStream", "CompiledStateGraph"),
    "lawful.graph.asking": ("Interrupt", "interrupt"),
    "lawful.graph.managed": ("IsLastStep", "RemainingSteps"),
    "lawful.graph.messages": ("MessagesState", "push_message"),
    "lawful.graph.migrations": ("AcceptNode", "ConvertKey", "RenameKey", "RenameNode"),
    "lawful.graph.outcome": ("Done", "Failed", "GraphOutput", "Paused", "RunResult"),
    "lawful.graph.control": ("RunControl",),
    "lawful.graph.policies": ("CachePolicy", "Limits", "NodeError", "TimeoutPolicy"),
    "lawful.graph.runtime": ("Runtime", "StreamWriter", "get_config", "get_runtime", "get_store", "get_stream_writer"),
    "lawful.graph.snapshot": ("PregelTask", "StateSnapshot"),
    "lawful.graph.streams": ("StreamMode",),
}  # fmt: skip
__all__ = [name for names in _WHERE.values() for name in names]  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = face(globals(), {name: module for module, names in _WHERE.items() for name in names})
