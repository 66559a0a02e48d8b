"""Microsoft's responses: the number of received events, and an error per invalid event, without its quoted
value, which may be personal.
"""

from __future__ import annotations

from typing import Any

from headwater.base.egress.answers import (
    get_nested,
    is_number,
    join_error_texts,
    objects,
    read_object,
    remove_quoted,
    succeeded,
)
from headwater.base.egress.models import EgressResponse
from headwater.forwarding.platforms.models import PartlyAccepted, Verdict
from headwater.forwarding.platforms.responses import by_status, refuse, unreadable


def classify(answer: EgressResponse, count: int) -> Verdict:
    body = read_object(answer)
    if body is None:
        return unreadable(answer, count)
    received_count = body.get("eventsReceived")
    is_about_events = succeeded(answer) or answer.status in (400, 422)
    if is_about_events and (errors := _read_errors(body, count)):
        other_count = count - len(errors)
        return PartlyAccepted(
            errors, others_taken=is_number(received_count) and received_count >= other_count
        )
    message = get_nested(body, "error", "message") or get_nested(body, "error", "code")
    message = message if isinstance(message, str) else ""
    if not succeeded(answer):
        return by_status(answer, count, message)
    if _is_sound(body) and (not is_number(received_count) or received_count >= count):
        return by_status(answer, count, confirmed=is_number(received_count))
    return refuse(join_error_texts(message, f"eventsReceived {received_count} of {count}"), count)


def _read_errors(body: dict[str, Any], count: int) -> dict[int, str]:
    """Return errors by position, without warnings."""
    errors: dict[int, list[str]] = {}
    for detail in objects(get_nested(body, "error", "details")):
        index = detail.get("index")
        if is_number(index) and 0 <= index < count and not _is_warning(detail):
            message = remove_quoted(detail.get("errorMessage"), detail.get("attemptedValue"))
            errors.setdefault(index, []).append(join_error_texts(detail.get("propertyName"), message))
    return {index: join_error_texts("; ".join(messages)) or "invalid" for index, messages in errors.items()}


def _is_sound(body: dict[str, Any]) -> bool:
    details = objects(get_nested(body, "error", "details"))
    return body.get("error") is None or (bool(details) and all(map(_is_warning, details)))


def _is_warning(detail: dict[str, Any]) -> bool:
    return detail.get("isWarning") is True
