"""What every test shares: Hypothesis profiles, and nothing that hides what a test needs."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile("everyday", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("full", deadline=None, max_examples=1_000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("LAWFUL_HYPOTHESIS", "everyday"))
