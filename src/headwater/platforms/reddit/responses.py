"""What Reddit answers. One invalid event has it refuse the whole call, so those it names are taken
out and the others sent again.
"""

from __future__ import annotations

import re
from typing import Any

from headwater.platforms.models import Answer, PartlyAccepted, Verdict
from headwater.platforms.responses import (
    at,
    by_status,
    objects,
    read_object,
    refused,
    succeeded,
    unreadable,
    words,
)

QUOTES = frozenset({"event"})
"""An invalid event comes back whole."""

_POSITION = re.compile(r"\bevents\[(\d{1,6})\]\.?")


def classify(answer: Answer, count: int) -> Verdict:
    body = read_object(answer)
    if body is None:
        return unreadable(answer, count)
    of_events = succeeded(answer) or answer.status in (400, 422)
    if of_events and (errors := _named(body, count)):
        return PartlyAccepted(errors, others_taken=False)
    said = at(body, "error", "message") or body.get("message")
    if succeeded(answer) and objects(body.get("invalid_events")):
        return refused(words(said or "invalid events"), count)
    # The form of a success is not published; it is an object that says something.
    said = said if isinstance(said, str) else ""
    return by_status(answer, count, said, confirmed=bool(body))


def _named(body: dict[str, Any], count: int) -> dict[int, str]:
    """Position → error of the events that Reddit names: by the path of a field, such as
    `$.data.events[0].user.uuid`, or by refusing each of them.
    """
    errors: dict[int, list[Any]] = {}
    for field in objects(at(body, "error", "fields")):
        path = str(field.get("field", ""))
        if (found := _POSITION.search(path)) and int(found[1]) < count:
            said = words(path[found.end() :], field.get("message"))
            errors.setdefault(int(found[1]), []).append(said)
    invalid = objects(body.get("invalid_events"))
    if not errors and len(invalid) == count:
        errors = {n: [event.get("error_message")] for n, event in enumerate(invalid)}
    return {n: words(*said) or "invalid" for n, said in errors.items()}
