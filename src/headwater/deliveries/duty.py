"""The worker's duty of sending deliveries: a process is at work while deliveries are due."""

from __future__ import annotations

from headwater.deliveries.queue import spaces_due
from headwater.jobs.child_process import make_process_duty
from headwater.jobs.duties import Duty
from headwater.settings import Settings

LOOK_SECONDS = 0.5
"""Seconds between two searches for Spaces with deliveries due."""


def make_forwarding_duty(settings: Settings) -> Duty:
    """Return the duty to run a forwarder while deliveries are due."""
    return make_process_duty("forwarder", settings, spaces_due, LOOK_SECONDS)
