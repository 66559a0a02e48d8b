"""The settings of a client, checked when it is made."""

from __future__ import annotations

import logging
import re
import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2

from headwater_client.version import __version__

PREFIX = "/public-api/v1"
CONNECT_SECONDS = 5.0
"""The time to open a connection, so that an unreachable address leaves time for another attempt."""
LOGGER = logging.getLogger("headwater_client")
_INVALID_IN_KEY = re.compile(r"[^\x21-\x7e]")


@dataclass(frozen=True)
class Options:
    """The settings of a client. Raises ValueError."""

    base_url: str
    key: str
    timeout: float
    retries: int
    backoff: float
    proxy: str | None
    ssl_context: ssl.SSLContext | None
    """Replaced by one with the system's authorities if None."""

    def __post_init__(self) -> None:
        _check_key(self.key)
        object.__setattr__(self, "base_url", _check_base_url(self.base_url))
        if self.ssl_context is None:  # made once, because it reads many certificates
            object.__setattr__(self, "ssl_context", httpx2.create_ssl_context())
        if not self.timeout > 0:
            raise ValueError(f"timeout must be more than 0 seconds: {self.timeout!r}")
        if self.retries < 0:
            raise ValueError(f"retries must not be negative: {self.retries!r}")

    def connection_settings(self, *, is_reused: bool) -> dict[str, Any]:
        """Return the arguments of the HTTP library's client."""
        return {
            "headers": {
                "Authorization": f"Bearer {self.key}",
                "Accept": "application/json",
                "User-Agent": f"headwater-client-python/{__version__}",
            },
            "proxy": self.proxy,
            "verify": self.ssl_context,
            "limits": httpx2.Limits(max_keepalive_connections=20 if is_reused else 0),
        }


def _check_key(key: str) -> None:
    """Raise ValueError for a key that can't be sent, without revealing it."""
    if not key:
        raise ValueError("key is empty")
    if match := _INVALID_IN_KEY.search(key):
        place = "at its end" if match.end() == len(key) else f"at position {match.start()}"
        raise ValueError(f"key has an invalid character {place}: {match[0]!r}")


def _check_base_url(base_url: str) -> str:
    """Return the address without a trailing slash. Raises ValueError."""
    parts = urlsplit(base_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"base_url must start with https:// or http:// and a host: {base_url!r}")
    if parts.username is not None or parts.query or parts.fragment or re.search(r"\s", base_url):
        raise ValueError("base_url must be an address without a user name, query, fragment or spaces")
    if "/public-api" in parts.path:
        raise ValueError(f"base_url must end before /public-api: {base_url!r}")
    return base_url.rstrip("/")


class _AddressFilter(logging.Filter):
    """Keep the addresses of requests, which may contain email addresses, out of the HTTP library's log."""

    def filter(self, record: logging.LogRecord) -> bool:
        return PREFIX not in record.getMessage()


logging.getLogger("httpx2").addFilter(_AddressFilter())
