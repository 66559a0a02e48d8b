"""Answers of LinkedIn's Conversions API. Pure.

A call with one bad event is refused as a whole (422), and the message names the positions.
"""

from __future__ import annotations

import re
from typing import Any

from headwater.egress.models import EgressResponse
from headwater.platforms.models import CallRefused, CredentialsRefused, PartlyAccepted, Verdict
from headwater.platforms.responses import (
    by_status,
    objects,
    read_object,
    refused,
    succeeded,
    unreadable,
    words,
)

_INDEX = re.compile(r"Index:\s*([0-9]{1,5})\s*,")
CREATED = 201
VERSION_GONE = 426
NOT_IMPLEMENTED = 501
_ABOUT_EVENTS = frozenset({400, 422})


def classify(answer: EgressResponse, count: int) -> Verdict:
    """Return the verdict on a call with so many events."""
    body = read_object(answer)
    if body is None:
        return unreadable(answer, count)
    message = str(body.get("message") or "")
    text = words(body.get("code") or body.get("serviceErrorCode"), message)
    if answer.status == VERSION_GONE:
        return CredentialsRefused(
            words("LinkedIn has ended this api_version; set a newer one", text)
        )
    if answer.status == NOT_IMPLEMENTED:
        return refused(words(f"HTTP {answer.status}", text), count)
    if errors := _named(message, count) if answer.status in _ABOUT_EVENTS else {}:
        return CallRefused(errors[0]) if count == 1 else PartlyAccepted(errors, False)
    if succeeded(answer) and (errors := _failed(body.get("elements"), count)):
        return CallRefused(errors[0]) if count == 1 else PartlyAccepted(errors, True)
    return by_status(answer, count, text, confirmed=_confirms(body, answer, count))


def _confirms(body: dict[str, Any], answer: EgressResponse, count: int) -> bool:
    """Return whether the events were taken: a batch is answered with an element for each, one that
    was created by 201 alone.
    """
    return answer.status == CREATED or len(objects(body.get("elements"))) == count


def _named(message: str, count: int) -> dict[int, str]:
    """Return the events at fault by position: a message names each, then what is wrong with it."""
    pieces = _INDEX.split(message)
    pairs = zip(pieces[1::2], pieces[2::2], strict=True)
    return {int(index): words(error) for index, error in pairs if int(index) < count}


def _failed(elements: object, count: int) -> dict[int, str]:
    """Return the elements of a success that have a status of failure of their own."""
    return {
        index: words(element.get("status"), element.get("error"))
        for index, element in enumerate(objects(elements)[:count])
        if isinstance(status := element.get("status"), int) and status >= 400
    }
