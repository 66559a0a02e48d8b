"""Responses of LinkedIn's Conversions API. Pure.

One invalid event makes LinkedIn reject the call (422) with its position.
"""

from __future__ import annotations

import re
from typing import Any

from headwater.base.egress.answers import join_error_texts, objects, read_object, succeeded
from headwater.base.egress.models import EgressResponse
from headwater.forwarding.platforms.models import CallRefused, CredentialsRefused, PartlyAccepted, Verdict
from headwater.forwarding.platforms.responses import by_status, refuse, unreadable

_INDEX = re.compile(r"Index:\s*([0-9]{1,5})\s*,")
CREATED = 201
VERSION_GONE = 426
NOT_IMPLEMENTED = 501
_ABOUT_EVENTS = frozenset({400, 422})


def classify(answer: EgressResponse, count: int) -> Verdict:
    body = read_object(answer)
    if body is None:
        return unreadable(answer, count)
    message = str(body.get("message") or "")
    text = join_error_texts(body.get("code") or body.get("serviceErrorCode"), message)
    if answer.status == VERSION_GONE:
        return CredentialsRefused(
            join_error_texts("LinkedIn has ended this api_version; set a newer one", text)
        )
    if answer.status == NOT_IMPLEMENTED:
        return refuse(join_error_texts(f"HTTP {answer.status}", text), count)
    if errors := _read_event_errors(message, count) if answer.status in _ABOUT_EVENTS else {}:
        return CallRefused(errors[0]) if count == 1 else PartlyAccepted(errors, False)
    if succeeded(answer) and (errors := _read_failed(body.get("elements"), count)):
        return CallRefused(errors[0]) if count == 1 else PartlyAccepted(errors, True)
    return by_status(answer, count, text, confirmed=_confirms(body, answer, count))


def _confirms(body: dict[str, Any], answer: EgressResponse, count: int) -> bool:
    """Require an element per event of a batch, or status 201 for a single event."""
    return answer.status == CREATED or len(objects(body.get("elements"))) == count


def _read_event_errors(message: str, count: int) -> dict[int, str]:
    """Return errors by position, from the index before each error."""
    pieces = _INDEX.split(message)
    pairs = zip(pieces[1::2], pieces[2::2], strict=True)
    return {int(index): join_error_texts(error) for index, error in pairs if int(index) < count}


def _read_failed(elements: object, count: int) -> dict[int, str]:
    """Return a successful call's errors by position."""
    return {
        index: join_error_texts(element.get("status"), element.get("error"))
        for index, element in enumerate(objects(elements)[:count])
        if isinstance(status := element.get("status"), int) and status >= 400
    }
