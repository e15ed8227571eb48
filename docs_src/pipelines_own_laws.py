"""The laws of the algebra, checked on one's own steps: a step that declares what it is not is found."""

from __future__ import annotations

from hypothesis import strategies as st

from lawful import Err, Result
from lawful.core.errors import NetworkError
from lawful.pipeline import step
from lawful.testing import check_step
from lawful.testing.laws import LawBroken


@step(errors=[NetworkError])
def honest(n: int) -> Result[int, NetworkError]:
    return Err(NetworkError("down"))


@step(total=True)
def hopeful(n: int) -> Result[int, NetworkError]:
    return Err(NetworkError("down"))


check_step(honest, st.integers())
try:
    check_step(hopeful, st.integers())
except LawBroken as broken:
    print(broken.law.name, "fails for", *broken.broken.arguments)
# prints: declared errors fails for 0
