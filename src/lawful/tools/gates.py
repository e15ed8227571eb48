"""Pure: whether a tool call may run, must first be asked about, or is refused, from what is recorded and nothing else.

The gates stand here and not in middleware: an agent without any middleware passes every one of them. They are asked in
one order: is there such a tool, do its arguments fit, is the budget kept, does the agent go in circles, would private data
meet an outsider's words on the way out, does a person have to say yes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from lawful.core.errors import ConfigurationError, ValidationError, nearest
from lawful.core.messages import InvalidToolCall, ToolCall
from lawful.tools.definition import AnyTool
from lawful.tools.facts import Facts
from lawful.tools.fitted import take
from lawful.tools.tally import Before, Tally, args_digest
from lawful.tools.toolset import Toolset

EXTEND: Final = "request_extended_budget"
"""The tool by which a model asks for more calls; it costs none."""


class Rules(Struct, frozen=True, kw_only=True):
    """The governor's thresholds."""

    budget: int = 40
    """Tool calls of one turn."""
    autonomy: float = 1.0
    """The budget is multiplied by it: 1, 1.25 or 1.5."""
    extension: int = 50
    """Calls that one request may add at most."""
    repeats: tuple[int, int, int] = (3, 5, 7)
    """The same call so many times in a turn: told so and not run, told so in earnest, the turn ends."""
    exempt: frozenset[str] = frozenset()
    """Tools that may be called alike as often as the model likes, such as one that waits."""
    trifecta: bool = True
    """Ask before an outward call once private and external data were both seen."""
    high_needs_yes: bool = True
    """Ask before every call of a tool of high risk that the effect ledger does not ask about itself."""

    def __post_init__(self) -> None:
        if self.budget < 1 or self.extension < 0 or not 1 <= self.autonomy <= 1.5:
            raise ConfigurationError(
                f"rules: a budget of at least 1, an extension of at least 0 and an autonomy from 1 to 1.5, not {self!r}",
                component="tools",
                operation="Rules",
            )
        if not 1 < self.repeats[0] <= self.repeats[1] <= self.repeats[2]:
            raise ConfigurationError(
                f"rules: three rising numbers of repeats from 2 on, not {self.repeats}",
                component="tools",
                operation="Rules",
            )


class Run(Struct, frozen=True):
    """It may run."""

    args_digest: str


class Ask(Struct, frozen=True):
    """A person must say yes to exactly these arguments first."""

    args_digest: str
    reasons: tuple[str, ...]


class Refuse(Struct, frozen=True):
    """It does not run, and the model is told why."""

    gate: Literal["known", "arguments", "budget", "loop"]
    message: str
    ends_turn: bool = False


Ruling: TypeAlias = Run | Ask | Refuse


class Case(Struct, frozen=True):
    """One call before the gates."""

    call: ToolCall
    tool: AnyTool | None
    tools: Toolset
    facts: Facts
    rules: Rules
    before: int
    """Calls of this turn that ran or were let through before this one."""
    alike: int
    """How often this very call was made in this turn, this time included."""
    bound: str = ""
    """The call's digest, where it is known already."""


Gate: TypeAlias = Callable[[Case], Refuse | str | None]
"""Refuses, gives a reason to ask a person, or lets the call pass (None)."""


def known(case: Case) -> Refuse | None:
    """There is such a tool."""
    if case.tool is not None:
        return None
    names = ", ".join(case.tools.names) or "none"
    return Refuse(
        "known", f"There is no tool {case.call.name!r}.{nearest(case.call.name, case.tools.names)} Tools: {names}."
    )


def fitting(case: Case) -> Refuse | None:
    """Its arguments fit its schema."""
    assert case.tool is not None
    try:
        case.tool.ruled(case.call.args)
    except ValidationError as error:
        return Refuse("arguments", f"{error.message} Nothing was run; call it again with arguments that fit.")
    return None


def within_budget(case: Case) -> Refuse | None:
    """The turn's tool calls are not used up."""
    allowed = int(case.rules.budget * case.rules.autonomy) + case.facts.extended
    if case.call.name == EXTEND or case.before < allowed:
        return None
    hint = f" Ask for more with {EXTEND}." if EXTEND in case.tools else ""
    return Refuse(
        "budget",
        f"The budget of {allowed} tool calls for this turn is used up: answer with what you have, or say that you do not"
        f" know.{hint}",
    )


def not_circling(case: Case) -> Refuse | None:
    """The same call is not made again and again."""
    first, second, third = case.rules.repeats
    if case.alike < first or case.call.name in case.rules.exempt:
        return None
    said = f"You have called {case.call.name} with these very arguments {case.alike} times; it was not run again."
    if case.alike >= third:
        return Refuse("loop", f"{said} The turn ends here.", ends_turn=True)
    if case.alike >= second:
        return Refuse("loop", f"{said} This is the last warning: change the approach, or answer with what you have.")
    return Refuse("loop", f"{said} The result will not change: use what it gave, or try something else.")


def no_trifecta(case: Case) -> str | None:
    """Private data, an outsider's words and a way out do not meet unseen."""
    assert case.tool is not None
    facts = case.facts
    if not (case.rules.trifecta and case.tool.traits.outward and facts.private_seen and facts.external_seen):
        return None
    return "it sends out, after both private data and content from outside were read in this run"


def a_person_says_yes(case: Case) -> str | None:
    """What is of high risk, or was declared to need it, is approved by a person."""
    assert case.tool is not None
    if case.tool.approval:
        return "this tool is always asked about"
    if case.rules.high_needs_yes and case.tool.traits.risk == "high" and not case.tool.traits.effect:
        return "it is of high risk"
    return None


GATES: Final[tuple[Gate, ...]] = (known, fitting, within_budget, not_circling, no_trifecta, a_person_says_yes)
"""In the order in which they are asked; the first refusal stands, reasons to ask are gathered."""


def rule(case: Case) -> Ruling:
    """What becomes of one call. The checked arguments of one that may run are kept for it."""
    found = _ruled(case)
    if case.tool is not None and not isinstance(found, Run):
        take(case.call.args, case.tool.arguments)
    return found


def _ruled(case: Case) -> Ruling:
    reasons: list[str] = []
    for gate in GATES:
        said = gate(case)
        if isinstance(said, Refuse):
            return said
        if said is not None:
            reasons.append(said)
    bound = case.bound or args_digest(case.call)
    return Ask(bound, tuple(reasons)) if reasons else Run(bound)


def rule_all(
    calls: Sequence[ToolCall | InvalidToolCall],
    tools: Toolset,
    facts: Facts,
    rules: Rules,
    past: Tally | Before = Tally(),
    digests: Sequence[str] | None = None,
) -> list[Ruling]:
    """What becomes of each call of one model answer, in order; ``past`` counts the turn before that answer, ``digests`` are
    those of the calls where they are known. Nothing has run when all are ruled."""
    alike: Counter[str] = Counter()
    before = past.calls - past.of(EXTEND)
    out: list[Ruling] = []
    for at, call in enumerate(calls):
        if isinstance(call, InvalidToolCall):
            out.append(
                Refuse(
                    "arguments",
                    f"The arguments of {call.name or 'the call'} are no JSON object: {call.error or call.args}",
                )
            )
            continue
        own = args_digest(call) if digests is None else digests[at]
        alike[own] += 1
        times = alike[own] + past.times(own)
        made = rule(Case(call, tools.get(call.name), tools, facts, rules, before, times, own))
        out.append(made)
        if not isinstance(made, Refuse) and call.name != EXTEND:
            before += 1
    return out


def extension(wanted: int, rules: Rules) -> int:
    """How many of the calls asked for are granted."""
    return max(0, min(wanted, rules.extension))
