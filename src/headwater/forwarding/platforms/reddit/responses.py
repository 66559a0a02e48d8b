"""Reddit's responses. One invalid event makes Reddit reject the call, so named events are removed and the
rest sent again.
"""

from __future__ import annotations

import re
from typing import Any

from headwater.base.egress.answers import get_nested, join_error_texts, objects, read_object, succeeded
from headwater.base.egress.models import EgressResponse
from headwater.forwarding.platforms.models import PartlyAccepted, Verdict
from headwater.forwarding.platforms.responses import by_status, refuse, unreadable

_POSITION = re.compile(r"\bevents\[(\d{1,6})\]\.?")


def classify(answer: EgressResponse, count: int) -> Verdict:
    body = read_object(answer)
    if body is None:
        return unreadable(answer, count)
    is_about_events = succeeded(answer) or answer.status in (400, 422)
    if is_about_events and (errors := _read_event_errors(body, count)):
        return PartlyAccepted(errors, others_taken=False)
    message = get_nested(body, "error", "message") or body.get("message")
    if succeeded(answer) and objects(body.get("invalid_events")):
        return refuse(join_error_texts(message or "invalid events"), count)
    # Successful responses are undocumented: expect a non-empty object.
    message = message if isinstance(message, str) else ""
    return by_status(answer, count, message, confirmed=bool(body))


def _read_event_errors(body: dict[str, Any], count: int) -> dict[int, str]:
    """Return errors by position, from a path such as `$.data.events[0].user.uuid`, or an error per event."""
    errors: dict[int, list[Any]] = {}
    for field in objects(get_nested(body, "error", "fields")):
        path = str(field.get("field", ""))
        if (event := _POSITION.search(path)) and int(event[1]) < count:
            error = join_error_texts(path[event.end() :], field.get("message"))
            errors.setdefault(int(event[1]), []).append(error)
    invalid = objects(body.get("invalid_events"))
    if not errors and len(invalid) == count:
        errors = {n: [event.get("error_message")] for n, event in enumerate(invalid)}
    return {n: join_error_texts(*messages) or "invalid" for n, messages in errors.items()}
