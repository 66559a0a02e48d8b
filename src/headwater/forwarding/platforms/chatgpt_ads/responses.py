"""OpenAI's responses. One invalid event makes OpenAI reject the call. The error names that event by a path
such as `events[1].data.type`; it is removed and the rest sent again. Pure.
"""

from __future__ import annotations

import re
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
from headwater.forwarding.platforms.models import CredentialsRefused, PartlyAccepted, Verdict
from headwater.forwarding.platforms.responses import by_status, refuse, unreadable

_POSITION = re.compile(r"events\[(\d{1,6})\](?:\.|\Z)")
_UNKNOWN_PIXEL = re.compile(r"\bpid\b")


def classify(answer: EgressResponse, count: int) -> Verdict:
    body = read_object(answer)
    if body is None:
        return unreadable(answer, count)
    if answer.status in (400, 422) and (errors := _read_event_errors(body, count)):
        return PartlyAccepted(errors, others_taken=False)
    message = get_nested(body, "error", "message")
    text = join_error_texts(message, get_nested(body, "error", "code"))
    if succeeded(answer):
        return _judge_by_number(body, text, answer, count)
    # An account without access to the Conversions API gets a 404.
    if answer.status == 404 or (answer.status == 403 and _UNKNOWN_PIXEL.search(text)):
        return CredentialsRefused(join_error_texts(f"HTTP {answer.status}", text), account=True)
    return by_status(answer, count, text)


def _judge_by_number(body: dict[str, Any], text: str, answer: EgressResponse, count: int) -> Verdict:
    accepted_count = body.get("accepted_events")
    if is_number(accepted_count) and accepted_count < count:
        return refuse(join_error_texts(f"{accepted_count} of {count} events were accepted", text), count)
    return by_status(answer, count, text, confirmed=is_number(accepted_count))


def _read_event_errors(body: dict[str, Any], count: int) -> dict[int, str]:
    """Return errors by position: details if there are any, else the error itself."""
    error = get_nested(body, "error")
    errors: dict[int, dict[str, None]] = {}
    for detail in [*objects(get_nested(error, "errors")), *objects([error])]:
        path = detail.get("param")
        event = _POSITION.match(path) if isinstance(path, str) else None
        if event is None or int(event[1]) >= count:
            continue
        position = int(event[1])
        if detail is not error or position not in errors:
            text = join_error_texts(detail.get("code"), detail.get("message"))
            errors.setdefault(position, {})[text or "invalid"] = None
    return {position: join_error_texts("; ".join(texts)) for position, texts in errors.items()}
