"""A fake internet for outgoing requests: names with addresses, and web servers over TLS. Only the last step
is fake: a permitted address is connected to a port of this machine.
"""

from __future__ import annotations

import json
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import httpcore2

from headwater.base.egress.client import Egress
from tests.support.certificates import certify

PUBLIC = "9.9.9.9"
DOMAIN = "clients.example"

Page = Callable[[ssl.SSLSocket], None]


def page(
    body: bytes | dict[str, Any], status: int = 200, kind: str = "application/json", **headers: str
) -> Page:
    """Return a page that is sent completely."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    all_headers = {"Content-Type": kind, "Content-Length": str(len(content)), **headers}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in all_headers.items())

    def answer(wire: ssl.SSLSocket) -> None:
        wire.sendall(f"HTTP/1.1 {status} X\r\nConnection: close\r\n{lines}\r\n".encode() + content)

    return answer


def chunked(size: int) -> Page:
    """Return a page without a declared length."""

    def answer(wire: ssl.SSLSocket) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
        wire.sendall(head + b"\r\n" + b"%x\r\n%s\r\n0\r\n\r\n" % (size, b" " * size))

    return answer


def endless_page(wire: ssl.SSLSocket) -> None:
    """Return a page that never ends."""
    wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    with suppress(OSError):
        while True:
            wire.sendall(b" ")
            time.sleep(0.02)


class Internet:
    """Serve pages by address. Every name under DOMAIN has a trusted certificate."""

    def __init__(self, folder: Path) -> None:
        self.pages: dict[str, Page] = {}
        """Pages by URL without the scheme."""
        self.names: dict[str, list[list[str]]] = {}
        """The name server's answers for a name, in turn; the last one repeats. Other names resolve to PUBLIC.
        """
        self.dialled: list[tuple[str, int]] = []
        self.requested_urls: list[str] = []
        trusted_certificate, other_certificate = (
            certify(folder, name) for name in (f"*.{DOMAIN}", "other.invalid")
        )
        self._tls = ssl.create_default_context(cafile=trusted_certificate)
        self._trusted, self._other = _Site(self, trusted_certificate), _Site(self, other_certificate)
        self.untrusted: set[str] = set()
        """Addresses of servers with an untrusted certificate."""

    def close(self) -> None:
        for site in (self._trusted, self._other):
            site.shutdown()
            site.server_close()

    def egress(self) -> Egress:
        """Return an outgoing HTTP client that is connected to this internet."""
        egress = Egress(resolver=self._resolve, tls=self._tls)
        cast("Any", egress._pool._network_backend)._any_backend = _Wire(self)
        return egress

    async def _resolve(self, name: str, _: int) -> list[str]:
        answers = self.names.get(name)
        if answers is None:
            return [PUBLIC]
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def port(self, address: str) -> int:
        site = self._other if address in self.untrusted else self._trusted
        return int(site.server_address[1])


class _Wire(httpcore2.AsyncNetworkBackend):
    def __init__(self, internet: Internet) -> None:
        self._internet = internet
        self._any_backend: Any = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self, host: str, port: int, *arguments: Any, **_: Any
    ) -> httpcore2.AsyncNetworkStream:
        self._internet.dialled.append((host, port))
        return await self._any_backend.connect_tcp("127.0.0.1", self._internet.port(host), *arguments)


class _Site(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, internet: Internet, file: Path) -> None:
        self.internet = internet
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(file)
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        site = cast("_Site", self.server)
        request = cast("socket.socket", self.request)
        # The client may close at any time, and the socket must still be closed.
        with suppress(OSError, ssl.SSLError), site.tls.wrap_socket(request, server_side=True) as wire:
            head = b""
            while b"\r\n\r\n" not in head:
                chunk = wire.recv(4096)
                if not chunk:
                    return
                head += chunk
            lines = head.decode().split("\r\n")
            host = next(line[6:] for line in lines if line.lower().startswith("host: "))
            url = host + lines[0].split(" ")[1]
            site.internet.requested_urls.append(url)
            site.internet.pages.get(url, page(b"{}", 404))(wire)
