"""Run a forwarder while deliveries are due."""

from __future__ import annotations

from headwater.base.settings import Settings
from headwater.database.jobs.child_process import make_process_duty
from headwater.database.jobs.duties import Duty
from headwater.forwarding.deliveries.queue import spaces_due

LOOK_SECONDS = 0.5


def make_forwarding_duty(settings: Settings) -> Duty:
    return make_process_duty("forwarder", settings, spaces_due, LOOK_SECONDS)
