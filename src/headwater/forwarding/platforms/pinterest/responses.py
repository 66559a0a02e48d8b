"""Responses of Pinterest: a status per event, even in successful calls. Pure."""

from __future__ import annotations

from typing import Any

from headwater.base.egress.answers import (
    get_nested,
    is_number,
    join_error_texts,
    objects,
    read_object,
    succeeded,
)
from headwater.base.egress.models import EgressResponse
from headwater.forwarding.platforms.models import CallAccepted, PartlyAccepted, Verdict
from headwater.forwarding.platforms.responses import by_status, refuse, unreadable

TAKEN = "processed"


def classify(answer: EgressResponse, count: int) -> Verdict:
    body = read_object(answer)
    if body is None:
        return unreadable(answer, count)
    is_about_events = succeeded(answer) or answer.status in (400, 422)
    if is_about_events and len(events := _read_events(body)) == count:
        errors = {n: _read_error(event) for n, event in enumerate(events) if event["status"] != TAKEN}
        if errors:
            return PartlyAccepted(errors, others_taken=True)
        if succeeded(answer):
            return CallAccepted()
    if succeeded(answer):
        return _judge_by_number(body, answer, count)
    message = body.get("message")
    return by_status(answer, count, message if isinstance(message, str) else "")


def _judge_by_number(body: dict[str, Any], answer: EgressResponse, count: int) -> Verdict:
    """Judge without statuses."""
    accepted_count = body.get("num_events_processed")
    if not is_number(accepted_count) or accepted_count >= count:
        return by_status(answer, count, confirmed=is_number(accepted_count))
    return refuse(
        join_error_texts(f"{accepted_count} of {count} events were processed", body.get("message")), count
    )


def _read_events(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events' statuses; errors have them in their details."""
    events = objects(body.get("events")) or objects(get_nested(body, "details", "events"))
    return [event for event in events if "status" in event]


def _read_error(event: dict[str, Any]) -> str:
    return join_error_texts(event.get("error_message")) or "not processed"
