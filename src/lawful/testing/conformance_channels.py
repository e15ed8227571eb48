"""The tests that every channel must pass, third parties' too.

In a test module of your own::

    from lawful.testing.conformance_channels import ChannelConformance

    class TestMyChannel(ChannelConformance):
        def make_channel(self):
            return MyChannel()

        def writes(self):
            return hypothesis.strategies.integers()

pytest then runs every promise of `lawful.graph.Channel` against it. ``make_channel`` gives what stands in ``Annotated``: a
channel, its class, or a `lawful.channels.BaseChannel`; ``writes`` a strategy of single writes; ``most`` is how many writes
of one step the channel takes, ``declared`` the type of its values.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Annotated, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typing_extensions import TypedDict

from lawful.core.codec import default as default_registry
from lawful.graph.builder import StateGraph
from lawful.graph.channel_forms import channel_for
from lawful.graph.channels import MISSING, Channel
from lawful.graph.command import START
from lawful.journal.memory import MemoryJournal

# One test runs in many subclasses, and a graph is slow beside plain data.
_NO_CHECK = (HealthCheck.too_slow, HealthCheck.differing_executors)
_QUIET = settings(max_examples=40, deadline=None, suppress_health_check=_NO_CHECK)


class ChannelConformance:
    """Subclass it as ``Test…`` and give it ``make_channel`` and ``writes``."""

    most = 3
    declared: Any = Any

    def make_channel(self) -> Any:
        """The channel, or what stands for it."""
        raise NotImplementedError

    def writes(self) -> st.SearchStrategy[Any]:
        """Single writes that it takes."""
        raise NotImplementedError

    def _channel(self) -> Channel:
        return channel_for(self.make_channel(), self.declared, "key")

    def _steps(self, data: st.DataObject) -> list[list[Any]]:
        return data.draw(st.lists(st.lists(self.writes(), max_size=self.most), max_size=5), label="steps")

    def _after(self, channel: Channel, steps: Sequence[Sequence[Any]]) -> Any:
        """What is stored after the steps, as the engine calls it."""
        stored = channel.initial()
        for writes in steps:
            if writes or (channel.clears and stored is not MISSING):
                stored = channel.update(stored, writes)
        return stored

    @_QUIET
    @given(st.data())
    def test_updating_and_reading_change_nothing_that_was_given(self, data: st.DataObject) -> None:
        channel, steps = self._channel(), self._steps(data)
        told = copy.deepcopy(steps)
        stored = self._after(channel, steps[:-1])
        if stored is not MISSING:
            before = copy.deepcopy(stored)
            for look in (channel.get, channel.consume, channel.finish):
                look(stored)
            if steps and steps[-1]:
                channel.update(stored, steps[-1])
            assert stored == before
        assert steps == told

    @_QUIET
    @given(st.data())
    def test_the_same_steps_give_the_same_value_in_every_channel_of_the_kind(self, data: st.DataObject) -> None:
        steps = self._steps(data)
        one, two = self._channel(), self._channel()
        assert _same(one.get(self._after(one, steps)), two.get(self._after(two, copy.deepcopy(steps))))
        assert _same(one.initial(), two.initial())

    @_QUIET
    @given(st.data())
    def test_what_is_stored_survives_a_restart_after_any_step(self, data: st.DataObject) -> None:
        channel, steps = self._channel(), self._steps(data)
        if not channel.tracked:
            return
        registry = default_registry.child()
        registry.register_annotation(channel.typ if channel.typ is not None else Any)
        stored = channel.initial()
        for writes in steps:
            if stored is not MISSING:
                stored = registry.decode(registry.encode(stored))
            if writes or (channel.clears and stored is not MISSING):
                stored = channel.update(stored, writes)
        straight = self._after(channel, steps)
        assert _same(channel.get(stored), channel.get(straight)) if straight is not MISSING else stored is MISSING

    @_QUIET
    @given(st.data())
    def test_consuming_and_finishing_twice_is_doing_it_once(self, data: st.DataObject) -> None:
        channel = self._channel()
        stored = self._after(channel, self._steps(data))
        if stored is MISSING:
            return
        for change in (channel.consume, channel.finish):
            once = change(stored)
            assert once is MISSING or _same(change(once), once)

    @_QUIET
    @given(st.data())
    def test_a_step_without_a_write_changes_it_only_if_it_says_so(self, data: st.DataObject) -> None:
        channel = self._channel()
        stored = self._after(channel, self._steps(data))
        if not channel.clears and stored is not MISSING:
            assert _same(channel.update(stored, ()), stored)

    @_QUIET
    @given(st.data())
    def test_a_thread_goes_on_in_another_process_where_it_stood(self, data: st.DataObject) -> None:
        turns = data.draw(st.lists(self.writes(), min_size=1, max_size=3), label="turns")
        straight, stopped = MemoryJournal(), MemoryJournal()
        graph = self._graph(turns, straight)
        end = graph.invoke({"turn": 0}, thread="t")
        for n in range(len(turns)):
            part = self._graph(turns, stopped)  # made anew, as another process would
            part.invoke({"turn": 0} if n == 0 else None, thread="t", interrupt_after=["write"])
        last = self._graph(turns, stopped)
        assert _same(last.invoke(None, thread="t"), end)
        assert _same(last.get_state("t").values, graph.get_state("t").values)

    def _graph(self, turns: Sequence[Any], journal: Any) -> Any:
        made: Any = TypedDict
        state = made("State", {"turn": int, "key": Annotated[self.declared, self.make_channel()]}, total=False)

        def write(given: Any) -> Any:
            return {"turn": given["turn"] + 1, "key": turns[given["turn"]]}

        def more(given: Any) -> Any:
            return "write" if given["turn"] < len(turns) else "__end__"

        graph = StateGraph(state).add_node("write", write).add_edge(START, "write")
        return graph.add_conditional_edges("write", more, ["write", "__end__"]).compile(checkpointer=journal)


def _same(left: Any, right: Any) -> bool:
    """Equality in which a value that is not equal to itself, as NaN is, is the same as its like."""
    return left is right or left == right or repr(left) == repr(right)
