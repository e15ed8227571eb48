"""What is taken for granted of a server's tools, and how a server that changed is noticed."""

import os
import sys
from pathlib import Path

from lawful.mcp import ServerChanged, connect
from lawful.mcp.lock import EffectClass

SERVE = [sys.executable, "-m", "lawful.cli", "mcp", "serve", "mcp_serve:desk"]
HERE = Path(__file__).parent
FOUND = {"PYTHONPATH": os.pathsep.join(sys.path)}


def classes(trusted: bool = False, declare: dict[str, EffectClass] | None = None) -> dict[str, EffectClass]:
    made = connect(SERVE, name="desk", cwd=HERE, env=FOUND, lock="mcp.lock", trusted=trusted, declare=declare)
    with made as desk:
        return dict(desk.effects)


print(classes())  # a stranger: its own word counts for nothing; what was seen is written to mcp.lock
try:
    classes(trusted=True)
except ServerChanged as error:
    print(error.details["changes"])

os.remove("mcp.lock")  # or, for one server: lawful mcp accept desk
print(classes(trusted=True, declare={"ship": "idempotent"}))
# prints: {'stock': 'opaque', 'ship': 'opaque'}
# prints: tool 'stock' was opaque and is read
# prints: {'stock': 'read', 'ship': 'idempotent'}
