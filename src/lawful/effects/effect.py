"""`Effect`: one kind of effect on the world: its key, what its provider promises, how to do it and how to find it."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Generic, TypeVar, cast, get_args, get_origin

from lawful.core.context import Run, Slot, current_task, here
from lawful.core.effect_port import EffectPort
from lawful.core.errors import ConfigurationError, NotInRun
from lawful.core.questions import Principal
from lawful.effects.capability import Capability, Fence, Opaque, Promise, Seen, Unavailable, capability_of, promise
from lawful.effects.contract import EffectContext, Intent
from lawful.effects.digests import builtins, digest, rebuilt
from lawful.effects.drive import no_loop_here, run_async, run_sync
from lawful.effects.inside import alone, kit_of, perform_here, receipt_or_raise
from lawful.effects.intents import (
    IntentRecord,
    OnFork,
    Risk,
    business_id,
    derived_id,
    idempotency_key,
    scalars,
    without,
)
from lawful.effects.policy import Decision, Policy
from lawful.effects.recover import recover_thread
from lawful.effects.words import in_words

C = TypeVar("C")
R = TypeVar("R")
Self = TypeVar("Self", bound="Described[Any, Any]")


class Described(Generic[C, R]):
    """What both forms of an effect share: its fields, its intents, and what a call inside a run does."""

    tool: str = ""
    """The effect's name in records; stable over releases. The class's or function's name where none is given."""
    version: str = "1"
    """Of what the tool does with its arguments; approvals are bound to it."""
    capability: Promise | Capability
    risk: Risk = "medium"
    """"high" demands a business key."""
    policy: Policy | None = None
    once_per_key: bool = False
    """Work of another thread that has the same key takes part in the operation instead of being refused."""
    max_attempts: int = 5
    send_budget: float = 10.0
    """Seconds from a claim within which the request must leave."""
    timeout: float = 20.0
    """Seconds that one call may take."""
    secrets: tuple[str, ...] = ()
    """Arguments that records never hold: passwords, tokens. Whoever settles such an operation needs the command itself."""
    on_fork: OnFork = "ask"
    """What a fork of a thread does whose program plans the same place with other arguments: ask a person, perform a new
    operation, or refuse."""

    _name: str = ""

    @property
    def promised(self) -> Capability:
        return capability_of(self.capability)

    @property
    def rules(self) -> Policy | None:
        return self.policy

    @property
    def looks(self) -> bool:
        return promise(self.promised, Opaque) is None

    def named(self: Self, name: str) -> Self:
        """The same effect under a name: needed where one without a key runs several times at once in a node."""
        twin = copy.copy(self)
        twin._name = name
        return twin

    @property
    def fences(self) -> bool:
        """Whether `bar` does anything."""
        return False

    @property
    def reads_revision(self) -> bool:
        """Whether the target's present revision is read before each claim."""
        return False

    def identify(self, receipt: R) -> str:
        """What tells one effect from another at the provider; here, the whole receipt."""
        return digest("receipt", builtins(receipt, what=f"receipt of {self.tool}"))

    def told_receipt(self, receipt: R) -> Any:
        return builtins(receipt, what=f"receipt of {self.tool}")

    def read_receipt(self, told: Any) -> R:
        return cast("R", told)

    @property
    def told(self) -> str:
        """What it promises, in words."""
        return in_words(self.promised)

    @property
    def opaque(self) -> bool:
        """Whether a crash in the wrong moment is a person's to settle."""
        return promise(self.promised, Opaque) is not None

    def recover_thread(self, run: Run, effects: Sequence[EffectPort]) -> None:
        """Settle what earlier runs of ``run``'s thread left without an outcome; sends nothing. Part of a run's start."""
        recover_thread(run, effects)

    def _check(self) -> None:
        """Refuse what contradicts itself. Raises: ConfigurationError."""
        declared = cast("Any", getattr(self, "capability", None))
        if not isinstance(declared, (Capability, *Promise.__args__)):
            raise ConfigurationError(
                f"effect {self.tool!r} declares no capability, such as Natural() & Lookup('strong'), or Opaque()",
                component=self.tool,
                operation="declare",
            )
        if promise(self.promised, Fence) is not None and not self.fences:
            raise ConfigurationError(
                f"effect {self.tool!r} promises Fence() and has no fence method that sets it",
                component=self.tool,
                operation="declare",
            )
        opaque = promise(self.promised, Opaque)
        if opaque is not None and opaque.on_unknown != "operator" and self.risk == "high":
            raise ConfigurationError(
                f"effect {self.tool!r} is of high risk, so nothing may be assumed about an unknown outcome",
                component=self.tool,
                operation="declare",
            )

    def _intent(
        self, command: C, args: Any, key: str | None, revision: str | None, labels: Mapping[str, Any]
    ) -> Intent[C, R]:
        """The intent of ``command``; inside a run it knows its lineage and place.

        Raises: ConfigurationError, if it has no key and is of high risk or outside a run; ValidationError.
        """
        self._check()  # again: its own __init__ may have set what was not there when it was made
        slot = current_task.get()
        if key is None and (slot is None or self.risk == "high"):
            why = "is of high risk" if self.risk == "high" else "is planned outside a run"
            raise ConfigurationError(
                f"effect {self.tool!r} {why} and so needs a key", component=self.tool, operation="plan"
            )
        scope, kept = _scope(slot), without(args, self.secrets, self.tool)
        if key is not None:
            op_id = business_id(self.tool, key)
        else:
            assert slot is not None
            name = f"name:{self._name}" if self._name else f"index:{slot.count(f'effect {self.tool}')}"
            op_id = derived_id(scope, slot.run.lineage, self.tool, slot.step_key, slot.visit, name)
        record = IntentRecord(
            scope=scope,
            op_id=op_id,
            tool=self.tool,
            tool_version=self.version,
            args=kept,
            args_hash=digest("args", kept),
            idempotency_key=idempotency_key(scope, op_id),
            capability=self.promised,
            revision=revision,
            key=key or "",
            risk=self.risk,
            once_per_key=self.once_per_key,
            max_attempts=self.max_attempts,
            send_budget=self.send_budget,
            timeout=self.timeout,
            labels=scalars(labels, self.tool),
            secrets=self.secrets,
            requester=_requester(slot),
            **_place(slot),
        )
        return Intent(record, cast("Any", self), command)

    async def _perform_async(self, intent: Intent[C, R]) -> R:
        slot = in_node(self.tool)
        kit = kit_of(slot, self.tool)
        with alone(slot, intent.record, not intent.record.key and not self._name):
            outcome = await run_async(kit.journal, perform_here(slot, kit, intent))
        return receipt_or_raise(slot, kit, intent, outcome)

    def _perform_sync(self, intent: Intent[C, R]) -> R:
        slot = in_node(self.tool)
        if intent.effect.needs_loop:
            no_loop_here(f"effect {self.tool!r}")
        kit = kit_of(slot, self.tool)
        with alone(slot, intent.record, not intent.record.key and not self._name):
            outcome = run_sync(perform_here(slot, kit, intent))
        return receipt_or_raise(slot, kit, intent, outcome)


class Effect(Described[C, R], ABC):
    """An effect in its careful form: subclass it, say what the provider promises, and write the four methods.

    ``capability`` must be set. An effect whose provider promises nothing derives from `OpaqueEffect` instead, which owes
    no ``lookup``. Inside a run ``await effect(command)`` gives the receipt; outside one,
    ``ledger.execute(effect.plan(command))`` gives every outcome as a value.
    """

    def __new__(cls: type[Self], *args: Any, **kwargs: Any) -> Self:
        made = object.__new__(cls)
        if not made.tool:
            object.__setattr__(made, "tool", cls.__name__)
        made._check()
        return made

    @abstractmethod
    def key(self, command: C) -> str | None:
        """What makes this operation one and the same, however often it is planned; None for "this place in the run"."""

    @abstractmethod
    async def perform(self, command: C, ctx: EffectContext) -> R:
        """Do it, with ``ctx.idempotency_key``, calling ``ctx.before_send()`` right before the request leaves.

        Raises: EffectRefused, if the provider definitely did not do it; whatever else is raised means that nobody knows.
        """

    @abstractmethod
    async def lookup(self, command: C, ctx: EffectContext) -> Seen[R]:
        """Report what is seen, never what it means: `Found`, `NotFound`, `Pending` or `Unavailable`."""

    def revision(self, command: C) -> str | None:
        """Hash of the exact state of the thing acted on: what evidence and approvals must name."""
        return None

    async def current_revision(self, command: C, ctx: EffectContext) -> str | None:
        """The revision that the target stands at now; read right before each claim, which refuses any but `revision`'s.

        Only an effect that has it is asked. What it raises, or `Unavailable`, keeps the operation from being claimed.
        """
        return self.revision(command)

    def labels(self, command: C) -> Mapping[str, Any]:
        """What aggregates compare and sum up: JSON scalars by name, such as customer and amount."""
        return {}

    async def fence(self, command: C, ctx: EffectContext) -> Seen[R]:
        """For a provider that promises `Fence`: make it impossible that attempts up to ``ctx.fence`` still happen.

        Report ``NotFound(fenced=True)`` once that is sure, or what was found instead.
        """
        return Unavailable("this effect has no fence")

    def authorize(self, command: C) -> Decision:
        """The effect's own rule; pure."""
        return Decision.allow()

    def plan(self, command: C) -> Intent[C, R]:
        """Describe the operation; nothing is done or written. Raises: ConfigurationError, ValidationError."""
        args = builtins(command, what=f"command of {self.tool}")
        if not self.secrets:
            self.read_command(args)  # as recovery will have to, when it is too late to say so
        return self._intent(command, args, self.key(command), self.revision(command), self.labels(command))

    async def __call__(self, command: C) -> R:
        """Perform it inside a running node, once however often the node is run again, and give the receipt.

        Raises: EffectRefused, EffectDenied, EffectConflicted, NotInRun outside a node; the signals OutcomeUnknown and
        GraphInterrupt pause the run.
        """
        in_node(self.tool)
        return await self._perform_async(self.plan(command))

    def sync(self, command: C) -> R:
        """As ``await effect(command)``, from sync code."""
        in_node(self.tool)
        return self._perform_sync(self.plan(command))

    # The performer's port

    @property
    def needs_loop(self) -> bool:
        return True

    def judge(self, command: C) -> Decision:
        return self.authorize(command)

    def attempt(self, command: C, ctx: EffectContext) -> Coroutine[Any, Any, R]:
        return self.perform(command, ctx)

    def seek(self, command: C, ctx: EffectContext) -> Coroutine[Any, Any, Seen[R]]:
        return self.lookup(command, ctx)

    @property
    def fences(self) -> bool:
        return self._has("fence")

    @property
    def reads_revision(self) -> bool:
        return self._has("current_revision")

    def present(self, command: C, ctx: EffectContext) -> Coroutine[Any, Any, str | None]:
        return self.current_revision(command, ctx)

    def _has(self, method: str) -> bool:
        """Whether a subclass declares it."""
        return any(method in vars(base) for base in type(self).__mro__ if base is not Effect)

    def _check(self) -> None:
        super()._check()
        if self.reads_revision and not self._has("revision"):
            raise without_revision(self.tool)

    def bar(self, command: C, ctx: EffectContext) -> Coroutine[Any, Any, Seen[R]]:
        return self.fence(command, ctx)

    def read_receipt(self, told: Any) -> R:
        return cast("R", rebuilt(told, type_arguments(type(self))[1], what=f"receipt of {self.tool}"))

    def read_command(self, told: Any) -> C:
        return cast("C", rebuilt(told, type_arguments(type(self))[0], what=f"command of {self.tool}"))


class OpaqueEffect(Effect[C, R]):
    """An effect whose provider promises nothing: after a crash at the wrong moment a person is asked."""

    capability = Opaque()

    async def lookup(self, command: C, ctx: EffectContext) -> Seen[R]:
        return Unavailable("nothing can be looked up")


def in_node(tool: str) -> Slot:
    """The running attempt. Raises: NotInRun, which says how an effect is performed without one."""
    if current_task.get() is None:
        raise NotInRun(
            f"effect {tool!r} was called outside a running node: there Ledger(journal).execute(effect.plan(...)) performs it;"
            " in a thread that a node started, use contextvars.copy_context().run",
            component=tool,
            operation="perform",
        )
    return here(f"effect {tool!r}")


def without_revision(tool: str) -> ConfigurationError:
    """For an effect that reads its target's revision and does not say which one it is planned for."""
    return ConfigurationError(
        f"effect {tool!r} reads current_revision and declares no revision to compare it with",
        component=tool,
        operation="declare",
    )


def _scope(slot: Slot | None) -> str:
    """The tenant; "" outside a run, where the ledger that executes the intent says it."""
    if slot is None:
        return ""
    journal = slot.run.journal
    return str(journal.scope) if journal is not None else slot.run.scope


def _requester(slot: Slot | None) -> str:
    """Who asked for the run, where its host says so: ``config={"configurable": {"requester": principal}}``."""
    if slot is None:
        return ""
    configurable: Any = slot.run.root.config.get("configurable") or {}
    who: Any = configurable.get("requester", "")
    return who.id if isinstance(who, Principal) else str(who)


def _place(slot: Slot | None) -> dict[str, Any]:
    if slot is None:
        return {}
    run = slot.run
    return {
        "lineage": run.lineage or run.thread or "",
        "thread": run.root.thread or "",
        "step_key": slot.step_key,
        "occurrence": slot.visit,
        "run": run.run_id,
    }


def type_arguments(cls: type) -> tuple[Any, Any]:
    """The command's and the receipt's type, as the class named them; Any where it did not."""
    for base in cls.__mro__:
        for generic in getattr(base, "__orig_bases__", ()):
            origin, args = get_origin(generic), get_args(generic)
            if isinstance(origin, type) and issubclass(origin, Effect) and len(args) == 2:
                command, receipt = args
                if not isinstance(command, TypeVar):
                    return command, Any if isinstance(receipt, TypeVar) else receipt
    return Any, Any
