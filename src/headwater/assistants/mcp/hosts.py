"""Hosts and origins from which the MCP resource may be called, so that a page somebody visits
cannot reach it through their browser: under the service's own name, and by pages of its own or of
the machine the browser runs on. Pure.
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
        """True when a page of this origin may call; a caller that is no page has none."""
        return origin is None or origin.lower() == self.origin or _is_loopback(origin)


def _is_loopback(origin: str) -> bool:
    try:
        parts = urlsplit(origin)
        _ = parts.port  # raises ValueError for what is none
    except ValueError:
        return False
    bare = not (parts.path or parts.query or parts.fragment or parts.username)
    named = parts.hostname in ("127.0.0.1", "localhost", "::1")
    return bare and named and parts.scheme in _STANDARD_PORTS
