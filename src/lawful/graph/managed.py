"""Managed values: state keys that the engine computes for each task and never stores."""

from __future__ import annotations

from typing import Annotated, TypeAlias


class Managed:
    """Base of the managed kinds: given how many steps are left, what a node reads."""

    @staticmethod
    def read(remaining: int) -> object:
        """``remaining`` is the last allowed step minus the current one."""
        raise NotImplementedError


class IsLastStepManager(Managed):
    """True in the last step that the recursion limit allows."""

    @staticmethod
    def read(remaining: int) -> object:
        return remaining == 1


class RemainingStepsManager(Managed):
    """How many steps the recursion limit still allows, this one included."""

    @staticmethod
    def read(remaining: int) -> object:
        return remaining


IsLastStep: TypeAlias = Annotated[bool, IsLastStepManager]
RemainingSteps: TypeAlias = Annotated[int, RemainingStepsManager]
