"""Whether a merge keeps its laws: a search for the smallest arguments that break one."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lawful.core.laws import Broken, Equal, Law, reducer_laws
from lawful.core.reducers import LawName, reducer_id


class LawBroken(AssertionError):
    """A law does not hold.

    ``broken`` is the smallest counterexample found: its ``law``, ``arguments`` and both sides.
    """

    def __init__(self, subject: str, broken: Broken) -> None:
        super().__init__(f"{subject} is not {broken}" if " " not in broken.law.name else f"{subject} breaks {broken}")
        self.broken = broken

    @property
    def law(self) -> Law:
        return self.broken.law


def check_laws(
    reducer: Callable[[Any, Any], Any],
    values: st.SearchStrategy[Any],
    *,
    laws: Sequence[LawName] | None = None,
    equal: Equal = operator.eq,
    max_examples: int = 100,
) -> None:
    """Check on ``max_examples`` generated arguments a law that ``reducer`` obeys what it declares.

    Of a `Reducer` the declared laws and its unit are checked, of a plain function associativity, or ``laws`` if given;
    of both that a call changes neither argument. ``values`` makes values of the key. Finding nothing proves nothing.
    It is a search of its own: call it in a plain test, not under ``@given``.

    Raises: LawBroken, which names the law and the smallest arguments found; what the merge itself raises.
    """
    check_equations(reducer_id(reducer), reducer_laws(reducer, laws, equal), {"a": values}, max_examples=max_examples)


def check_equations(
    subject: str, laws: Sequence[Law], values: dict[str, st.SearchStrategy[Any]], *, max_examples: int = 100
) -> None:
    """The same for any laws; ``values`` has a strategy for each sort of argument that they name.

    Raises: LawBroken.
    """
    for law in laws:
        _search(subject, law, [values[sort] for sort in law.sorts], max_examples)


def _search(subject: str, law: Law, values: Sequence[st.SearchStrategy[Any]], max_examples: int) -> None:
    # Nothing is read from or left in a folder: the arguments found are in the error.
    @settings(max_examples=max_examples, deadline=None, database=None)
    @given(st.tuples(*values))
    def holds(arguments: tuple[Any, ...]) -> None:
        broken = law.check(*arguments)
        if broken is not None:
            raise LawBroken(subject, broken)

    holds()
