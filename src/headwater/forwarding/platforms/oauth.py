"""Request short-lived OAuth 2.0 access tokens. Pure."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.forwarding.platforms.models import CallDeferred, CredentialsRefused, Verdict
from headwater.forwarding.platforms.responses import by_status, join_error_texts, read_object, succeeded

FORM = "application/x-www-form-urlencoded"
_SHORTEST_LIFE = 60.0
# Temporary errors (the first two from RFC 6749).
_LATER = frozenset({"server_error", "temporarily_unavailable", "rate_limit_exceeded"})


def exchange(url: str, **fields: str) -> EgressRequest:
    return EgressRequest(url=url, body=urlencode(fields).encode(), content_type=FORM)


def read_token(answer: EgressResponse) -> tuple[str, float] | Verdict:
    """Return the token and its lifetime in seconds, or a verdict. Refused secrets hold the destination."""
    body = read_object(answer)
    if body is None:
        return CallDeferred(f"The token endpoint answered HTTP {answer.status} without JSON.")
    token = body.get("access_token")
    if succeeded(answer) and isinstance(token, str) and token:
        return token, _read_lifetime(body.get("expires_in"))
    error = body.get("error")
    text = join_error_texts(
        "No access token was issued", f"HTTP {answer.status}", error, body.get("error_description")
    )
    is_temporary = not succeeded(answer) and isinstance(by_status(answer, 1), CallDeferred)
    if error in _LATER or is_temporary:
        return CallDeferred(text)
    return CredentialsRefused(text)


def _read_lifetime(seconds: Any) -> float:
    return max(float(seconds), _SHORTEST_LIFE) if isinstance(seconds, int | float) else 3600.0
