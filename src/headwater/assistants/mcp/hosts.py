"""Hosts and origins that may call the MCP resource, so that a page in a visitor's browser cannot reach it:
the service's own name, and pages of the service or of the browser's machine. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_STANDARD_PORTS = {"http": ":80", "https": ":443"}


@dataclass(frozen=True)
class AllowedHosts:
    """The accepted values of Host and Origin headers; all in lower case."""

    names: frozenset[str]
    origin: str

    @classmethod
    def of(cls, base_url: str) -> Self:
        """The hosts of a service that people reach at `base_url`. On the loopback interface all its
        names are one host.
        """
        parts = urlsplit(base_url.lower())
        port = f":{parts.port}" if parts.port is not None else ""
        names = LOOPBACK if _is_loopback(base_url) else (parts.netloc.removesuffix(port),)
        ports = {port} if port else {"", _STANDARD_PORTS[parts.scheme]}
        return cls(frozenset(name + suffix for name in names for suffix in ports), base_url.lower())

    def takes_host(self, host: str) -> bool:
        """True when a request for this host is meant for us."""
        return host.lower() in self.names

    def takes_origin(self, origin: str | None) -> bool:
        """Return whether a page of this origin may call; callers other than pages have no origin."""
        return origin is None or origin.lower() == self.origin or _is_loopback(origin)


def _is_loopback(origin: str) -> bool:
    try:
        parts = urlsplit(origin)
        _ = parts.port  # raises ValueError for an invalid address
    except ValueError:
        return False
    bare = not (parts.path or parts.query or parts.fragment or parts.username)
    named = parts.hostname in ("127.0.0.1", "localhost", "::1")
    return bare and named and parts.scheme in _STANDARD_PORTS
