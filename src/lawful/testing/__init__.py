"""What a program built on this library is tested with; needs the extra ``testing`` (hypothesis, pytest)."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.testing.agreement import check_journal as check_journal
    from lawful.testing.channels import check_channel as check_channel
    from lawful.testing.crash import CrashFound as CrashFound
    from lawful.testing.crash import Life as Life
    from lawful.testing.crash import crash_everywhere as crash_everywhere
    from lawful.testing.crash import run_to_end as run_to_end
    from lawful.testing.laws import LawBroken as LawBroken
    from lawful.testing.laws import check_equations as check_equations
    from lawful.testing.laws import check_laws as check_laws
    from lawful.testing.pipelines import check_pipelines as check_pipelines
    from lawful.testing.pipelines import check_step as check_step
    from lawful.testing.pipelines import observe as observe
    from lawful.testing.provider import FakeCommand as FakeCommand
    from lawful.testing.provider import FakeEffect as FakeEffect
    from lawful.testing.provider import FakeProvider as FakeProvider
    from lawful.testing.provider import VirtualClock as VirtualClock
    from lawful.testing.provider import assert_effects as assert_effects
    from lawful.testing.script import Script as Script
else:
    _TABLE = {
        "check_laws": "lawful.testing.laws",
        "check_equations": "lawful.testing.laws",
        "check_journal": "lawful.testing.agreement",
        "check_channel": "lawful.testing.channels",
        "check_pipelines": "lawful.testing.pipelines",
        "check_step": "lawful.testing.pipelines",
        "observe": "lawful.testing.pipelines",
        "crash_everywhere": "lawful.testing.crash",
        "run_to_end": "lawful.testing.crash",
        "Life": "lawful.testing.crash",
        "CrashFound": "lawful.testing.crash",
        "LawBroken": "lawful.testing.laws",
        "FakeCommand": "lawful.testing.provider",
        "FakeEffect": "lawful.testing.provider",
        "FakeProvider": "lawful.testing.provider",
        "VirtualClock": "lawful.testing.provider",
        "assert_effects": "lawful.testing.provider",
        "Script": "lawful.testing.script",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
