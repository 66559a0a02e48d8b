"""Judge the answers to requests for access tokens. Pure."""

from __future__ import annotations

from headwater.base.egress.models import EgressResponse
from headwater.base.egress.oauth import IssuedToken, read_token
from headwater.forwarding.platforms.models import CallDeferred, CredentialsRefused, Verdict


def judge_token(answer: EgressResponse) -> IssuedToken | Verdict:
    """Return the token or a verdict. Refused secrets hold the destination."""
    token = read_token(answer)
    if isinstance(token, IssuedToken):
        return token
    return CallDeferred(token.text) if token.is_temporary else CredentialsRefused(token.text)
