"""Hosts and origins that may call the MCP resource: the service itself, its pages, and pages of the browser's
machine. Others could attack it from a visitor's browser. Pure.
"""

from __future__ import annotations

from typing import Self
from urllib.parse import urlsplit

from msgspec import Struct

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_STANDARD_PORTS = {"http": ":80", "https": ":443"}


class AllowedHosts(Struct, frozen=True):
    """Accepted Host and Origin headers, in lower case."""

    names: frozenset[str]
    origin: str

    @classmethod
    def of(cls, base_url: str) -> Self:
        """Return the accepted hosts. All names of the loopback interface are equivalent."""
        parts = urlsplit(base_url.lower())
        port = f":{parts.port}" if parts.port is not None else ""
        names = LOOPBACK if _is_loopback(base_url) else (parts.netloc.removesuffix(port),)
        ports = {port} if port else {"", _STANDARD_PORTS[parts.scheme]}
        return cls(frozenset(name + suffix for name in names for suffix in ports), base_url.lower())

    def takes_host(self, host: str) -> bool:
        return host.lower() in self.names

    def takes_origin(self, origin: str | None) -> bool:
        """Accept callers without an origin, too: only pages have one."""
        return origin is None or origin.lower() == self.origin or _is_loopback(origin)


def _is_loopback(origin: str) -> bool:
    try:
        parts = urlsplit(origin)
        _ = parts.port  # raises ValueError for an invalid address
    except ValueError:
        return False
    is_bare = not (parts.path or parts.query or parts.fragment or parts.username)
    is_named = parts.hostname in ("127.0.0.1", "localhost", "::1")
    return is_bare and is_named and parts.scheme in _STANDARD_PORTS
