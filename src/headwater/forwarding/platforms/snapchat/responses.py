"""Snap's responses. Bodies are undocumented, so the status decides unless there is an error."""

from __future__ import annotations

from headwater.base.egress.answers import join_error_texts, read_object, succeeded
from headwater.base.egress.models import EgressResponse
from headwater.forwarding.platforms.models import Verdict
from headwater.forwarding.platforms.responses import by_status, refuse, unreadable

FAILED_STATUSES = frozenset({"INVALID", "FAILED", "FAILURE", "ERROR"})


def classify(answer: EgressResponse, count: int) -> Verdict:
    body = read_object(answer)
    if body is None:
        return unreadable(answer, count)
    reasons = (body.get(name) for name in ("reason", "message", "error"))
    message = next((reason for reason in reasons if isinstance(reason, str) and reason), "")
    status = body.get("status")
    if succeeded(answer) and isinstance(status, str) and status.upper() in FAILED_STATUSES:
        return refuse(join_error_texts(status, message), count)
    return by_status(answer, count, message, confirmed=bool(body))
