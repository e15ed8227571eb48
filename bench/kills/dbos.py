"""The kill in DBOS: the payment is a step of a workflow, on SQLite; the second life recovers it when DBOS is launched.

Contract: a step is tried at least once and is never run again after it has completed; steps should be idempotent.
"""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from pathlib import Path

from dbos import DBOS, SetWorkflowID

from bench.kills.world import ask, pay

NAME = "dbos"
KILL = "bench.kills.dbos"


def version() -> str:
    return installed("dbos")


def launched(folder: str) -> None:
    """DBOS on a file of its own."""
    file = Path(folder) / "dbos.sqlite"
    DBOS(config={"name": "kill", "system_database_url": f"sqlite:///{file}", "log_level": "ERROR"})


def main(folder: str, life: int) -> None:
    """Run the workflow, or wait for the recovered one."""
    launched(folder)

    @DBOS.step()
    def payment() -> str:
        return pay(folder, life)

    @DBOS.workflow()
    def work() -> str:
        return payment()

    DBOS.launch()
    if life == 1:
        with SetWorkflowID("w"):
            work()
    DBOS.retrieve_workflow("w").get_result()
    ask("done")
    DBOS.destroy()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
