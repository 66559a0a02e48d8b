"""Browsers with an earlier login, recognized by a signed cookie.

Failed logins elsewhere don't lock them out.
"""

from __future__ import annotations

import hmac
import secrets

from starlette.requests import Request
from starlette.responses import Response

from headwater.console.visitor import cookie_name, set_cookie
from headwater.endpoints.services import services

REMEMBERED_SECONDS = 400 * 86_400
"""The longest lifetime that browsers allow."""
_LONGEST = 200


def remember_browser(request: Request, response: Response, account: str) -> None:
    if known_browser(request, account) is None:
        number = secrets.token_urlsafe(16)
        value = f"{number}.{_sign(request, number, account)}"
        set_cookie(request, response, "browser", value, REMEMBERED_SECONDS)


def known_browser(request: Request, account: str) -> str | None:
    """Return a browser's number if it has logged in to this account."""
    value = request.cookies.get(cookie_name(request, "browser"), "")
    number, _, signature = value.partition(".")
    if not number or len(value) > _LONGEST:
        return None
    expected = _sign(request, number, account)
    return number if hmac.compare_digest(signature.encode(), expected.encode()) else None


def _sign(request: Request, number: str, account: str) -> str:
    key = services(request).signing_key
    signed = f"browser\0{number}\0{account}".encode("utf-8", "surrogatepass")
    return hmac.new(key, signed, "sha256").hexdigest()
