"""The ledger at a terminal: an outcome that nobody knows, settled by a person; a freeze; chains verified; rules compared."""

from __future__ import annotations

import shlex
from contextlib import redirect_stdout
from io import StringIO
from textwrap import shorten

from lawful import Ledger, SQLiteJournal, effect
from lawful.cli.main import main
from lawful.effects import Policy, RequireApproval

today = Policy("mails")
stricter = Policy("mails", (RequireApproval("support"),), version="2")


@effect("number")
def send(number: str, text: str) -> str:
    if number == "18":
        raise ConnectionError("no reply")
    return f"sent {number}"


if __name__ == "__main__":
    ledger = Ledger(SQLiteJournal("mails.db"))
    for number in ("17", "18"):
        ledger.execute_sync(send.plan(number, "hello"))
    for line in (
        "ledger reconcile --effects __main__:send",
        "ledger resolve send:18 --happened 'seen in the outbox' --by ann --reason 'the customer has it'",
        "ledger reconcile",
        "ledger freeze send --by ann --reason 'the provider is down'",
        "ledger freeze send --thaw",
        "ledger verify",
        "policy compare __main__:today __main__:stricter",
    ):
        print("$ lawful", line)
        with redirect_stdout(StringIO()) as out:
            code = main([*shlex.split(line), "--db", "mails.db"])
        for told in out.getvalue().splitlines():
            print(shorten(told, 100))
        if code:
            print("exit code", code)

# prints: $ lawful ledger reconcile --effects __main__:send
# prints: send:18: Unknown: the provider promises neither look-up nor key: nobody but you can find out [...]
# prints: exit code 3
# prints: $ lawful ledger resolve send:18 --happened 'seen in the outbox' --by ann --reason 'the customer has it'
# prints: send:18: Succeeded
# prints: $ lawful ledger reconcile
# prints: Every outcome is known.
# prints: $ lawful ledger freeze send --by ann --reason 'the provider is down'
# prints: send is frozen: nothing of it is claimed or sent.
# prints: $ lawful ledger freeze send --thaw
# prints: send may be claimed again.
# prints: $ lawful ledger verify
# prints: 2 operations, 9 events: all chains and rows hold
# prints: $ lawful policy compare __main__:today __main__:stricter
# prints: the new rule flips 2 of 2
# prints: send:17: Allowed -> NeedsApproval: 1 missing
# prints: send:18: Allowed -> NeedsApproval: 1 missing
