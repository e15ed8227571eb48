"""Change a thread of a compiled graph: updates in a node's name, whole histories, and branches of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lawful.core.clock import Clock
from lawful.core.errors import ConfigurationError
from lawful.core.lazy import late
from lawful.graph.config import target_of
from lawful.graph.dry import ReplayMode, is_dry
from lawful.graph.recorded import Replayed, replay_recorded
from lawful.graph.snapshot import StateSnapshot
from lawful.graph.updates import COPY, StateUpdate, update
from lawful.graph.views import Views


class Changes(Views):
    """What can be done to a compiled graph's threads beside running them."""

    clock: Clock | None

    def update_state(
        self, config: Any, values: Any, as_node: str | None = None, task_id: str | None = None
    ) -> dict[str, Any]:
        """Write as if a node had returned ``values``; gives the config of the new checkpoint.

        ``as_node``: the node; left out, the one that last updated the state. ``"__start__"`` writes as the input task,
        ``"__input__"`` as a new input, ``"__end__"`` with no values ends what is pending, ``"__copy__"`` makes a sibling
        of the checkpoint. With a checkpoint_id in ``config`` this is a fork.

        Raises: InvalidUpdateError where the node is ambiguous or unknown or the state refuses the values.
        """
        return update(self, config, [[StateUpdate(values, as_node, task_id)]])

    async def aupdate_state(
        self, config: Any, values: Any, as_node: str | None = None, task_id: str | None = None
    ) -> dict[str, Any]:
        return await late("asyncio").to_thread(self.update_state, config, values, as_node, task_id)

    def bulk_update_state(self, config: Any, supersteps: Sequence[Sequence[StateUpdate]]) -> dict[str, Any]:
        """Make one checkpoint of each superstep's updates, all of them or none; gives the config of the last.

        Raises: ValueError for no superstep or an empty one; InvalidUpdateError as `update_state`, and for several
        updates of which one has no ``as_node`` or must stand alone.
        """
        return update(self, config, supersteps)

    async def abulk_update_state(self, config: Any, supersteps: Sequence[Sequence[StateUpdate]]) -> dict[str, Any]:
        return await late("asyncio").to_thread(self.bulk_update_state, config, supersteps)

    def fork(
        self, at: Any, values: Any = None, as_node: str | None = None, *, into: str | None = None
    ) -> dict[str, Any]:
        """Branch off at a checkpoint (its config or `StateSnapshot`) and give the branch's config, to run or replay from.

        With ``values`` the branch begins with an update in the name of ``as_node``, else as a copy. ``into`` names a new
        thread that gets the history and the branch; the thread itself is then left as it is. Effects of the branch are
        those of the same lineage: what was done is not done again.

        Raises: ConfigurationError for a checkpoint that is not there; ValidationError for an ``into`` that has a history.
        """
        config = config_at(at)
        target = target_of(config)
        journal = self.journal_of()
        if target.checkpoint is None:
            raise ConfigurationError(
                "fork needs a checkpoint: a snapshot, or its config with a checkpoint_id",
                component="graph",
                operation="fork",
            )
        if into is not None:
            if journal.chain(target.thread or "", target.ns, target.checkpoint) is None:
                raise ConfigurationError(
                    f"Thread {target.thread!r} has no checkpoint {target.checkpoint!r}",
                    component="graph",
                    operation="fork",
                )
            journal.copy_thread(target.thread or "", into)
            config = {**config, "configurable": {**config["configurable"], "thread_id": into}}
        if values is None and as_node is None:
            return self.update_state(config, None, COPY)
        return self.update_state(config, values, as_node)

    def replay_recorded(self, thread: str, *, mode: ReplayMode = "recorded") -> Replayed:
        """Run the recorded steps of a thread again with recorded answers and receipts, call nobody, and compare.

        Gives the first step that today's code does otherwise, and the `ReplayGap` where the record has no answer. Nothing
        is written; nodes find no long-term store.

        ``mode="dry_run"`` also tells what today's code would call where the record has no answer: the effects, models,
        tools and tasks it comes to (``intents``), in order. The task that asked ends there, tasks beside it go on, and
        so does a step that the thread has not finished.

        Raises: ConfigurationError for a thread without a history, an unknown mode, and "live", which is `replay` with
        effects of ``on_fork="new"``.
        """
        return replay_recorded(self, thread, dry=is_dry(mode))

    async def afork(
        self, at: Any, values: Any = None, as_node: str | None = None, *, into: str | None = None
    ) -> dict[str, Any]:
        return await late("asyncio").to_thread(lambda: self.fork(at, values, as_node, into=into))


def config_at(at: Any) -> dict[str, Any]:
    """The config of a checkpoint, given that or its snapshot. Raises: ConfigurationError."""
    if isinstance(at, StateSnapshot):
        return at.config
    if isinstance(at, Mapping):
        return dict(at)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    raise ConfigurationError(
        f"Expected a StateSnapshot or its config, got {type(at).__name__}", component="graph", operation="checkpoint"
    )
