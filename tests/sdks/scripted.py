"""A service that responds as a test defines, and records the requests."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

Reply = tuple[int, dict[str, str], bytes]
ACCEPTED: Reply = (202, {}, b'{"status": 202, "message": "Accepted"}')


@dataclass(frozen=True)
class ReceivedRequest:
    """A received request."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class ScriptedService:
    """The service's address, and the requests."""

    url: str
    requests: list[ReceivedRequest] = field(default_factory=list[ReceivedRequest])


def refuse_then(*replies: Reply) -> Callable[[int], Reply]:
    """Return the replies in turn, then always the last one."""
    return lambda number: replies[min(number, len(replies) - 1)]


def status(code: int, **headers: str) -> Reply:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return code, names, json.dumps({"message": f"status {code}"}).encode()


@contextmanager
def scripted_service(
    reply: Callable[[int], Reply], certificate: Path | None = None
) -> Iterator[ScriptedService]:
    """Run a service whose nth response is `reply(n)`. It uses TLS if it has a certificate."""
    service = ScriptedService("")

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline(65537)
            if not self.raw_requestline or not self.parse_request():
                self.close_connection = True
                return
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            request = ReceivedRequest(self.command, self.path, dict(self.headers.items()), body)
            service.requests.append(request)
            code, headers, content = reply(len(service.requests) - 1)
            self.send_response(code)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # the base's
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        service.url = f"https://localhost:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
