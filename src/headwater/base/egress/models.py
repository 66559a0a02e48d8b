"""A request to another server, its response, and errors."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

import msgspec

MOST_BYTES = 64 * 1024


class EgressRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request. `url`, `headers` and `body` may contain tokens, so they are never logged."""

    url: str
    method: Literal["GET", "POST"] = "POST"
    body: bytes = b""
    headers: dict[str, str] = {}
    content_type: str = "application/json"
    """Of the body; a GET sends none."""

    def __repr__(self) -> str:
        return f"Call({self.method} {urlsplit(self.url).hostname})"


class EgressResponse(msgspec.Struct, frozen=True, kw_only=True):
    """A response. The body is cut at the client's limit, in unpacked bytes."""

    status: int
    headers: dict[str, str] = {}
    """Names in lower case; of a repeated one the last."""
    fields: tuple[tuple[str, str], ...] = ()
    """Every header in order, repeated ones included."""
    body: bytes = b""
    cut: bool = False


class EgressError(Exception):
    """No response. The text can be shown to users: it reveals only the host."""


class BadUrl(EgressError):
    """The URL is malformed, or not one that may be called."""


class AddressRefused(EgressError):
    """The host is at a forbidden address."""


class TimedOut(EgressError):
    """The response was not complete in time. The request may have arrived."""


class Unreachable(EgressError):
    """The connection failed or was cut off. The request may have arrived."""


class BadAnswer(EgressError):
    """The response is not HTTP, or its head is too large."""
