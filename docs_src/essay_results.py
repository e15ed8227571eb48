"""A failed result skips what would follow; the monad laws hold on representative cases."""

from __future__ import annotations

from lawful import Err, Ok, Result
from lawful.core.errors import ValidationError

Checked = Result[int, ValidationError]
calls: list[int] = []


def halved(n: int) -> Checked:
    calls.append(n)
    return Ok(n // 2) if n % 2 == 0 else Err(ValidationError(f"{n} is odd"))


def less_one(n: int) -> Checked:
    return Ok(n - 1) if n > 0 else Err(ValidationError(f"{n} is not positive"))


def unit(n: int) -> Checked:
    return Ok(n)


if __name__ == "__main__":
    failed: Checked = Err(ValidationError("out of scope"))
    print(failed.bind(halved).bind(less_one) == failed, calls)

    cases: list[Checked] = [Ok(-3), Ok(0), Ok(8), Ok(7), failed]
    print(all(unit(n).bind(halved) == halved(n) for n in (-2, 0, 5, 8)))  # left identity
    print(all(case.bind(unit) == case for case in cases))  # right identity
    print(
        all(case.bind(halved).bind(less_one) == case.bind(lambda n: halved(n).bind(less_one)) for case in cases)
    )  # associativity

# prints: True []
# prints: True
# prints: True
# prints: True
