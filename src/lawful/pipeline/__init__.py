"""Agent programs as typed values: built with ``>>``, ``&`` and ``|``, looked at before they run, then interpreted."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.pipeline.build import branch as branch
    from lawful.pipeline.build import each as each
    from lawful.pipeline.build import identity as identity
    from lawful.pipeline.build import par as par
    from lawful.pipeline.build import prim as prim
    from lawful.pipeline.build import pure as pure
    from lawful.pipeline.build import step as step
    from lawful.pipeline.build import switch as switch
    from lawful.pipeline.machine import run as run
    from lawful.pipeline.machine import run_sync as run_sync
    from lawful.pipeline.nodes import Component as Component
    from lawful.pipeline.nodes import Node as Node
    from lawful.pipeline.nodes import Pipeline as Pipeline
else:
    _TABLE = {
        "Pipeline": "lawful.pipeline.nodes",
        "Component": "lawful.pipeline.nodes",
        "Node": "lawful.pipeline.nodes",
        "identity": "lawful.pipeline.build",
        "pure": "lawful.pipeline.build",
        "step": "lawful.pipeline.build",
        "prim": "lawful.pipeline.build",
        "branch": "lawful.pipeline.build",
        "switch": "lawful.pipeline.build",
        "par": "lawful.pipeline.build",
        "each": "lawful.pipeline.build",
        "run": "lawful.pipeline.machine",
        "run_sync": "lawful.pipeline.machine",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
