"""Responses of Google's Data Manager API. Pure.

One invalid event makes Google reject the call, naming its fields. HTTP 200 means accepted, not matched to a
click.
"""

from __future__ import annotations

import re
from typing import Any, cast

from headwater.base.egress.answers import join_error_texts, objects, read_duration, read_object, succeeded
from headwater.base.egress.models import EgressResponse
from headwater.forwarding.platforms.models import (
    CallDeferred,
    CallRefused,
    CredentialsRefused,
    PartlyAccepted,
    Verdict,
)
from headwater.forwarding.platforms.responses import by_status, refuse, unreadable

CREDENTIALS = frozenset({"UNAUTHENTICATED", "PERMISSION_DENIED"})
RETRYABLE_ERRORS = frozenset(
    {"RESOURCE_EXHAUSTED", "UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED", "ABORTED", "CANCELLED", "UNKNOWN"}
)
PERMANENT = frozenset(
    {
        "INVALID_ARGUMENT",
        "FAILED_PRECONDITION",
        "OUT_OF_RANGE",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "UNIMPLEMENTED",
    }
)

ACCOUNT_REASONS = frozenset(
    {
        "TERMS_AND_CONDITIONS_NOT_SIGNED",
        "NOT_ALLOWLISTED",
        "OPERATING_ACCOUNT_LOGIN_ACCOUNT_MISMATCH",
        "DESTINATION_ACCOUNT_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS",
        "DESTINATION_ACCOUNT_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS",
        "DESTINATION_ACCOUNT_ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED",
    }
)
"""Reasons about the account, not an event."""
LATER_REASONS = frozenset({"CONVERSION_ACTION_TOO_RECENTLY_CREATED"})

_EVENT = re.compile(r"\bevents\[([0-9]{1,5})\]")


def classify(answer: EgressResponse, count: int) -> Verdict:
    body = read_object(answer)
    if body is None:
        return unreadable(answer, count)
    error = body.get("error")
    if not isinstance(error, dict):
        return by_status(answer, count, join_error_texts(error), confirmed=_confirms(body, answer))
    return _judge(cast("dict[str, Any]", error), answer, count)


def _confirms(body: dict[str, Any], answer: EgressResponse) -> bool:
    """Allow an empty object from a validation-only call, but not an empty body."""
    request_id = body.get("requestId")
    return (bool(request_id) and isinstance(request_id, str)) or answer.body.strip() == b"{}"


def _judge(error: dict[str, Any], answer: EgressResponse, count: int) -> Verdict:
    name = error.get("status")
    details = objects(error.get("details"))
    reasons = [detail["reason"] for detail in details if isinstance(detail.get("reason"), str)]
    text = join_error_texts(name or f"HTTP {answer.status}", *reasons, error.get("message"))
    if name in CREDENTIALS or answer.status == 401 or not ACCOUNT_REASONS.isdisjoint(reasons):
        about_account = name == "PERMISSION_DENIED" or not ACCOUNT_REASONS.isdisjoint(reasons)
        return CredentialsRefused(text, account=about_account)
    if name in RETRYABLE_ERRORS or not LATER_REASONS.isdisjoint(reasons):
        return CallDeferred(text, wait_seconds=_read_delay(details))
    if errors := _read_event_errors(details, reasons, count):
        return CallRefused(next(iter(errors.values()))) if count == 1 else PartlyAccepted(errors, False)
    if name in PERMANENT:
        return refuse(text, count)
    verdict = by_status(answer, count, text)
    return CallDeferred(text) if succeeded(answer) else verdict


def _read_event_errors(details: list[dict[str, Any]], reasons: list[str], count: int) -> dict[int, str]:
    """Return first errors, by position."""
    errors: dict[int, str] = {}
    for detail in details:
        for violation in objects(detail.get("fieldViolations")):
            field = str(violation.get("field", ""))
            event = _EVENT.search(field)
            if event is None or int(event[1]) >= count:
                continue
            reason = violation.get("reason") or " ".join(reasons)
            errors.setdefault(int(event[1]), join_error_texts(reason, field, violation.get("description")))
    return errors


def _read_delay(details: list[dict[str, Any]]) -> float | None:
    delays = (read_duration(detail.get("retryDelay")) for detail in details)
    return next((delay for delay in delays if delay is not None), None)
