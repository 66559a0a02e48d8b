"""Browsers with an earlier login, recognized by a signed cookie.

Failed logins elsewhere don't lock them out. For codes of a second factor only browsers count that have used
it: a stolen password alone makes any number of others, each with its own count of guesses.
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


def remember_browser(
    request: Request, response: Response, account: str, *, with_factor: bool = False
) -> None:
    if known_browser(request, account, with_factor=with_factor) is None:
        number = secrets.token_urlsafe(16)
        value = f"{number}.{_sign(request, number, account, with_factor=with_factor)}"
        set_cookie(request, response, "browser", value, REMEMBERED_SECONDS)


def known_browser(request: Request, account: str, *, with_factor: bool = False) -> str | None:
    """Return a browser's number if it has logged in to this account, and used its second factor
    (`with_factor`).
    """
    value = request.cookies.get(cookie_name(request, "browser"), "")
    number, _, signature = value.partition(".")
    if not number or len(value) > _LONGEST:
        return None
    signatures = (
        _sign(request, number, account, with_factor=is_with_factor) for is_with_factor in {True, with_factor}
    )
    is_known = any(hmac.compare_digest(signature.encode(), text.encode()) for text in signatures)
    return number if is_known else None


def _sign(request: Request, number: str, account: str, *, with_factor: bool) -> str:
    key, purpose = services(request).signing_key, "browser with factor" if with_factor else "browser"
    signed = f"{purpose}\0{number}\0{account}".encode("utf-8", "surrogatepass")
    return hmac.new(key, signed, "sha256").hexdigest()
