"""Answers by status.

A shared counter is too expensive for a short request, so a process counts in a list and publishes once a
second.
"""

from __future__ import annotations

from headwater.base.telemetry.counters import make_counter
from headwater.http.openapi import PROBLEMS

SECONDS = 1.0

answers = make_counter(
    "headwater_http_responses", "Answers to HTTP requests", status=map(str, (200, 202, 303, *PROBLEMS))
)
_uncounted = [0] * 600


def count_answer(status: int) -> None:
    _uncounted[status] += 1


def publish_answers() -> None:
    for status, number in enumerate(_uncounted):
        if number:
            _uncounted[status] -= number
            answers.labels(str(status)).inc(number)
