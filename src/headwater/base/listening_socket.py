"""The listening socket, bound once and shared by all API processes, so connections wait during a restart
instead of being refused.
"""

from __future__ import annotations

import errno
import socket
import time
from typing import cast

BIND_SECONDS = 2.0


_REMEDIES = {
    errno.EADDRINUSE: "; stop the program that uses the port, or choose another --port",
    errno.EADDRNOTAVAIL: "; --host must be an address of this machine",
    errno.EACCES: "; ports below 1024 need root: choose another --port",
}


def bind(host: str, port: int, patience: float = BIND_SECONDS) -> socket.socket:
    """Return a bound TCP socket that does not listen yet. Port 0 takes a free one.

    A port in use is retried for `patience` seconds because it may belong to a Headwater that is being
    replaced. Raise OSError.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    deadline = time.monotonic() + patience
    while True:
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(address)
        except OSError as error:
            bound.close()
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return bound


def explain(host: str, port: int, error: OSError) -> str:
    """Return the reason why `bind` failed, and a remedy."""
    remedy = _REMEDIES.get(error.errno or 0, "")
    return f"cannot listen on {host}:{port}: {error.strerror or error}{remedy}"


def base_url(bound: socket.socket) -> str:
    host, port = reachable(bound)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def reachable(bound: socket.socket) -> tuple[str, int]:
    """Return the host and port to connect to: for "every address", the local one."""
    host, port = cast("tuple[str, int]", bound.getsockname()[:2])
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port  # noqa: S104 # a comparison


def answers(bound: socket.socket, path: str, timeout: float = 2.0) -> bool:
    """Return whether the server behind the socket answers GET `path` with 200. Written by hand to spare the
    long-lived supervisor an HTTP client.
    """
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    try:
        with socket.create_connection(reachable(bound), timeout) as client:
            client.sendall(request.encode())
            return client.recv(64).startswith(b"HTTP/1.1 200")
    except OSError:
        return False
