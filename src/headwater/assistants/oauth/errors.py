"""OAuth errors, to the letter of RFC 6749 §4.1.2.1 and §5.2, RFC 7591 §3.2.2 and RFC 8707 §2."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from starlette.responses import JSONResponse

NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}
CORS = {"Access-Control-Allow-Origin": "*"}
"""Header of answers that any page may read: they need no cookie and contain no secret."""

Code = Literal[
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "unsupported_response_type",
    "invalid_scope",
    "invalid_target",
    "access_denied",
    "server_error",
    "temporarily_unavailable",
    "invalid_redirect_uri",
    "invalid_client_metadata",
]


def described(text: str) -> str:
    """Return a description in the characters that RFC 6749 allows."""
    return re.sub(r"[^\x20-\x21\x23-\x5b\x5d-\x7e]", "?", text)


@dataclass(eq=False)
class OAuthError(Exception):
    """A client's request answered with `error`."""

    error: Code
    description: str
    status: int = 400
    headers: dict[str, str] = field(default_factory=dict[str, str])

    def answer(self) -> JSONResponse:
        body = {"error": self.error, "error_description": described(self.description)}
        return JSONResponse(body, self.status, headers=NO_STORE | CORS | self.headers)
