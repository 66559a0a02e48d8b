"""What Snap answers. The form of its bodies is not published, so the status decides, unless the
body itself says that the call failed.
"""

from __future__ import annotations

from headwater.forwarding.models import Answer, Verdict
from headwater.forwarding.platforms.answers import by_status, read_object, refused, succeeded, words

FAILED = frozenset({"INVALID", "FAILED", "FAILURE", "ERROR"})


def classify(answer: Answer, count: int) -> Verdict:
    body = read_object(answer) or {}
    reasons = (body.get(name) for name in ("reason", "message", "error"))
    said = next((reason for reason in reasons if isinstance(reason, str) and reason), "")
    status = body.get("status")
    if succeeded(answer) and isinstance(status, str) and status.upper() in FAILED:
        return refused(words(status, said), count)
    return by_status(answer, count, said)
