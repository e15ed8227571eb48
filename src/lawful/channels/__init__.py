"""Channels: how the writes of a step change what a key holds."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.graph.channel_forms import BaseChannel as BaseChannel
    from lawful.graph.channel_forms import DeltaChannel as DeltaChannel
    from lawful.graph.channel_forms import MapChannel as MapChannel
    from lawful.graph.channel_forms import RecordChannel as RecordChannel
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
else:
    _TABLE = {
        "AnyValue": "lawful.graph.channels",
        "BinaryOperatorAggregate": "lawful.graph.channels",
        "Channel": "lawful.graph.channels",
        "EphemeralValue": "lawful.graph.channels",
        "LastValue": "lawful.graph.channels",
        "LastValueAfterFinish": "lawful.graph.channels",
        "NamedBarrierValue": "lawful.graph.channels",
        "NamedBarrierValueAfterFinish": "lawful.graph.channels",
        "Topic": "lawful.graph.channels",
        "UntrackedValue": "lawful.graph.channels",
        "BaseChannel": "lawful.graph.channel_forms",
        "DeltaChannel": "lawful.graph.channel_forms",
        "MapChannel": "lawful.graph.channel_forms",
        "RecordChannel": "lawful.graph.channel_forms",
        "compose": "lawful.graph.channel_forms",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
