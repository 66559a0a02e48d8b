"""Responses of Microsoft: the number of received events, and an error per invalid event, whose quoted value
is removed because it may be personal.
"""

from __future__ import annotations

from typing import Any

from headwater.base.egress.models import EgressResponse
from headwater.forwarding.platforms.models import PartlyAccepted, Verdict
from headwater.forwarding.platforms.responses import (
    at,
    by_status,
    error_text,
    is_number,
    objects,
    read_object,
    refused,
    succeeded,
    unreadable,
    without_quoted,
)


def classify(answer: EgressResponse, count: int) -> Verdict:
    body = read_object(answer)
    if body is None:
        return unreadable(answer, count)
    received = body.get("eventsReceived")
    of_events = succeeded(answer) or answer.status in (400, 422)
    if of_events and (errors := _errors(body, count)):
        others = count - len(errors)
        return PartlyAccepted(errors, others_taken=is_number(received) and received >= others)
    message = at(body, "error", "message") or at(body, "error", "code")
    message = message if isinstance(message, str) else ""
    if not succeeded(answer):
        return by_status(answer, count, message)
    if _is_sound(body) and (not is_number(received) or received >= count):
        return by_status(answer, count, confirmed=is_number(received))
    return refused(error_text(message, f"eventsReceived {received} of {count}"), count)


def _errors(body: dict[str, Any], count: int) -> dict[int, str]:
    """Return errors by position, without warnings."""
    errors: dict[int, list[str]] = {}
    for detail in objects(at(body, "error", "details")):
        index = detail.get("index")
        if is_number(index) and 0 <= index < count and not _is_warning(detail):
            message = without_quoted(detail.get("errorMessage"), detail.get("attemptedValue"))
            errors.setdefault(index, []).append(error_text(detail.get("propertyName"), message))
    return {index: error_text("; ".join(messages)) or "invalid" for index, messages in errors.items()}


def _is_sound(body: dict[str, Any]) -> bool:
    """Return whether the body has no errors except warnings."""
    details = objects(at(body, "error", "details"))
    return body.get("error") is None or (bool(details) and all(map(_is_warning, details)))


def _is_warning(detail: dict[str, Any]) -> bool:
    return detail.get("isWarning") is True
