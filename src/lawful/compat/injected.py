"""`InjectedState` and `InjectedStore`: marks of parameters that a `ToolNode` fills, hidden from models by langchain too."""

from __future__ import annotations

from lawful.core.lazy import late

TYPE_CHECKING = False
if TYPE_CHECKING:
    _Mark = object
else:
    try:
        # langchain leaves a parameter out of a tool's schema by the class of its mark.
        _Mark = late("langchain_core.tools", "InjectedToolArg")
    except ModuleNotFoundError:
        _Mark = object


class InjectedState(_Mark):
    """``Annotated[dict, InjectedState]``: the tool gets the state; with a name, ``InjectedState("user")``, that field of it."""

    def __init__(self, field: str | None = None) -> None:
        self.field = field


class InjectedStore(_Mark):
    """``Annotated[Any, InjectedStore()]``: the tool gets the store that the graph was compiled with."""


__all__ = ["InjectedState", "InjectedStore"]
