"""One reducer for the whole state: a step is (state, change) -> state, and nothing else changes it."""

from __future__ import annotations

from dataclasses import dataclass

from lawful import START, StateGraph


@dataclass(frozen=True)
class Account:
    balance: int = 0
    moves: tuple[str, ...] = ()


def book(state: Account, change: Account) -> Account:
    return Account(state.balance + change.balance, state.moves + change.moves)


def deposit(account: Account) -> Account:
    return Account(10, ("deposit",))


def fee(account: Account) -> Account:
    return Account(-1, ("fee",))


bank = StateGraph(Account, reducer=book).add_sequence([deposit, fee]).add_edge(START, "deposit").compile()
print(bank.invoke(Account(100)))

# prints: Account(balance=109, moves=('deposit', 'fee'))
