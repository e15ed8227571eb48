"""`lawful` with strict=False: LangGraph's behaviour where the two differ; everything else as in `ours`."""

from __future__ import annotations

from dataclasses import replace

from bench.peers.ours import Ours


class OursLenient(Ours):
    """What strictness costs is the difference to `ours`."""

    NAME = "lawful (lenient)"
    face = replace(Ours.face, options={"strict": False})


peer = OursLenient()
