"""A fake Meta account: a pixel and its token, over HTTP on loopback."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from tests.support.fake_platform import Answer, FakePlatform
from tests.support.wire import ReceivedRequest

PIXEL, TOKEN = "1234567890123456", "EAABgoodToken"
CODE = "TEST12345"


def answer(request: ReceivedRequest) -> Answer:
    """Return Meta's answer to a request."""
    parts = urlsplit(request.target)
    if parse_qs(parts.query).get("access_token") != [TOKEN]:
        text = "Invalid OAuth access token - Cannot parse access token"
        return Answer(400, {"error": {"message": text, "type": "OAuthException", "code": 190}})
    pixel = parts.path.split("/")[2]
    if pixel != PIXEL:
        text = f"Unsupported post request. Object with ID '{pixel}' does not exist"
        return Answer(400, {"error": {"message": text, "code": 100, "error_subcode": 33}})
    return Answer(200, {"events_received": len(request.json()["data"])})


def meta_account() -> FakePlatform:
    """Return the account's server, which runs during its `with` block."""
    return FakePlatform(default=answer)
