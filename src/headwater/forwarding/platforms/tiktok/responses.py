"""Responses of TikTok's Events API. Pure.

Errors are HTTP 200 with a non-zero code in the body.
"""

from __future__ import annotations

from headwater.base.egress.answers import join_error_texts, read_object, succeeded
from headwater.base.egress.models import EgressResponse
from headwater.forwarding.platforms.models import (
    Bisect,
    CallAccepted,
    CallDeferred,
    CredentialsRefused,
    Verdict,
)
from headwater.forwarding.platforms.responses import by_status, refuse, unreadable

OK = 0
PARTLY = 20001
FORBIDDEN = 40001
INVALID = 40002
THROTTLED = frozenset({40016, 40100, 40133})
"""Limits of the app, the token and the advertiser."""
ABOUT_TOKENS = 401
"""The first digits of codes about tokens."""


def classify(answer: EgressResponse, count: int) -> Verdict:
    body = read_object(answer)
    if body is None:
        return unreadable(answer, count)
    code = body.get("code")
    if not isinstance(code, int):
        return by_status(answer, count, join_error_texts(body.get("message")))
    text = join_error_texts(f"Code {code}", body.get("message"))
    verdict = by_status(answer, count, text, confirmed=code in {OK, PARTLY})
    if code == PARTLY and count > 1 and isinstance(verdict, CallAccepted):
        # Accepted events aren't named. Smaller calls find the others; TikTok drops repeats by id.
        return Bisect(text)
    if code in {OK, PARTLY}:
        # A gateway's 502 means that nothing was accepted.
        return verdict
    return _judge(code, text, answer, count)


def _judge(code: int, text: str, answer: EgressResponse, count: int) -> Verdict:
    if code in THROTTLED:
        return CallDeferred(text)
    if code == FORBIDDEN or code // 100 == ABOUT_TOKENS:
        # An invalid token, or no permission for this pixel.
        return CredentialsRefused(text)
    if code == INVALID or code // 1000 == INVALID // 1000:
        return refuse(text, count)
    return CallDeferred(text) if succeeded(answer) else by_status(answer, count, text)
