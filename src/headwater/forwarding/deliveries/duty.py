"""The worker's duty of sending deliveries: a process is at work while deliveries are due."""

from __future__ import annotations

from headwater.base.settings import Settings
from headwater.database.jobs.child_process import make_process_duty
from headwater.database.jobs.duties import Duty
from headwater.forwarding.deliveries.queue import spaces_due

LOOK_SECONDS = 0.5
"""Seconds between two searches for Spaces with deliveries due."""


def make_forwarding_duty(settings: Settings) -> Duty:
    """Return the duty to run a forwarder while deliveries are due."""
    return make_process_duty("forwarder", settings, spaces_due, LOOK_SECONDS)
