"""The operator's syslog server, from settings."""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec import Struct

PORTS = {"tcp": 601, "tls": 6514}


class SyslogServer(Struct, frozen=True):
    host: str
    port: int
    is_tls: bool

    @property
    def name(self) -> str:
        return f"{self.host}:{self.port}"


def read_syslog_server(url: str) -> SyslogServer:
    """Return the server of a tcp:// or tls:// URL. Raise ValueError with the broken rule."""
    parts = urlsplit(url)
    if parts.scheme not in PORTS or not parts.hostname:
        raise ValueError("must be tcp://HOST:PORT or tls://HOST:PORT")
    if parts.path or parts.query or parts.fragment or parts.username:
        raise ValueError("must have nothing but a host and a port")
    return SyslogServer(parts.hostname, parts.port or PORTS[parts.scheme], parts.scheme == "tls")
