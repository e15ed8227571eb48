"""What a node may return beside plain state: `Command`, `Send`, `Overwrite`; and the names START, END and UNSET."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar, Final, Generic, cast, final

from msgspec import Struct
from msgspec.structs import force_setattr
from typing_extensions import TypeVar

from lawful.graph.policies import TimeoutPolicy, timeout_of

N = TypeVar("N", default=Any)
"""Where a Command may go: ``Command[Literal["a", "b"]]`` as a node's return annotation draws these edges."""

START: Final = "__start__"
"""The virtual node that every graph begins at."""
END: Final = "__end__"
"""The virtual node that ends a branch of work."""
ROOT: Final = "__root__"
"""The one channel of a graph whose state is a bare type or has one reducer for the whole."""
INTERRUPT: Final = "__interrupt__"
OVERWRITE: Final = "__overwrite__"


@final
class Unset:
    """The class of UNSET."""

    _only: ClassVar[Unset | None] = None

    def __new__(cls) -> Unset:
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> bool:
        return False

    def __copy__(self) -> Unset:
        return self

    def __deepcopy__(self, memo: Any) -> Unset:
        return self


UNSET: Any = Unset()
"""The default of a state field that a returned instance does not write; typed Any so that ``topic: str = UNSET`` passes."""


class Send(Struct, frozen=True):
    """Run ``node`` in the next step with ``arg`` as its whole input.

    ``timeout`` (seconds, a timedelta or a `TimeoutPolicy`) replaces the node's own for this one task.

    Raises: GraphBuildError (a ValueError) for a limit that is not positive.
    """

    node: str
    arg: Any
    timeout: float | timedelta | TimeoutPolicy | None = None

    def __post_init__(self) -> None:
        if self.timeout is not None:
            policy = timeout_of(self.timeout, "Send: timeout")
            assert policy is not None
            plain = policy.idle_timeout is None and policy.run_timeout is not None
            force_setattr(self, "timeout", policy.run_timeout if plain else policy)


class Overwrite(Struct, frozen=True):
    """Replace what a reducer has accumulated; beats every other write to the key in the same step."""

    value: Any
    type: str = OVERWRITE
    """A discriminator, so that a JSON encoder that flattens objects leaves it recognisable."""


class Command(Struct, Generic[N], frozen=True, kw_only=True):
    """State to write, nodes to go to, answers to give: from a node, or as a graph's input.

    ``goto`` is a node's name, a Send, or a sequence of both; ``graph=Command.PARENT`` addresses the graph that holds this
    one; ``resume`` answers the one open question, or several by a dict from question id to answer.
    """

    PARENT: ClassVar[str] = "__parent__"

    graph: str | None = None
    update: Any = None
    resume: Any = None
    goto: Any = ()


def overwritten(value: Any) -> tuple[bool, Any]:
    """(True, the new value) if ``value`` is an Overwrite in any of its forms, else (False, value)."""
    if isinstance(value, Overwrite):
        return True, value.value
    if type(value) is dict:
        told = cast("Mapping[str, Any]", value)
        if len(told) == 1 and OVERWRITE in told:
            return True, told[OVERWRITE]
        if len(told) == 2 and told.get("type") == OVERWRITE and "value" in told:
            return True, told["value"]
    return False, cast("Any", value)
