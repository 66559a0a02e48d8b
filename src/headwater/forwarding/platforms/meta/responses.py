"""Responses of the Meta Conversions API. Pure.

One invalid event makes Meta reject the call without naming it. Codes are more precise than the status.
"""

from __future__ import annotations

from typing import Any, cast

from headwater.base.egress.answers import is_number, join_error_texts, read_object, succeeded
from headwater.base.egress.models import EgressResponse
from headwater.forwarding.platforms.models import CallDeferred, CredentialsRefused, Verdict
from headwater.forwarding.platforms.responses import by_status, refuse

PERMANENT = frozenset({3, 100, 105, 294})
THROTTLED = frozenset({4, 17, 80003})
CREDENTIALS = frozenset({10, 102, 190, *range(200, 300)}) - PERMANENT
"""An invalid token, or no access to the dataset."""
NO_SUCH_DATASET = 33
"""Subcode of 100: no such dataset, or no access."""
PAUSE_WHEN_THROTTLED = 300.0
"""Seconds. Meta counts calls per hour, without a wait time."""

_CLEAR_STATUSES = frozenset({401, 403, 413})
"""Statuses that are clear without an error code."""


def classify(answer: EgressResponse, count: int) -> Verdict:
    body = read_object(answer)
    if body is None:
        return CallDeferred(join_error_texts(f"HTTP {answer.status} with a body that cannot be read."))
    error = body.get("error")
    if isinstance(error, dict):
        return _judge(cast("dict[str, Any]", error), answer, count)
    if error is None and succeeded(answer):
        return _judge_by_number(body, answer, count)
    if error is None and answer.status in _CLEAR_STATUSES:
        return by_status(answer, count)
    return CallDeferred(join_error_texts(f"HTTP {answer.status} without an error code", error))


def _judge_by_number(body: dict[str, Any], answer: EgressResponse, count: int) -> Verdict:
    received_count = body.get("events_received")
    if is_number(received_count) and received_count < count:
        return refuse(f"{received_count} of {count} events were received.", count)
    return by_status(answer, count, confirmed=is_number(received_count))


def _judge(error: dict[str, Any], answer: EgressResponse, count: int) -> Verdict:
    code, subcode = error.get("code"), error.get("error_subcode")
    numbers = "/".join(str(number) for number in (code, subcode) if number is not None)
    messages = (error.get("message"), error.get("error_user_msg"))
    text = join_error_texts(f"HTTP {answer.status}, code {numbers or 'unknown'}", *messages)
    if code in CREDENTIALS:
        return CredentialsRefused(text)
    if code == 100 and subcode == NO_SUCH_DATASET:
        return CredentialsRefused(text, account=True)
    if code in THROTTLED:
        return CallDeferred(text, wait_seconds=PAUSE_WHEN_THROTTLED)
    if error.get("is_transient") is True or answer.status >= 500 or code not in PERMANENT:
        return CallDeferred(text)
    return refuse(text, count)
