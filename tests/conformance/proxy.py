"""A pass-through proxy that adds a header, for programs that can't set headers."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.waiting import PATIENCE_SECONDS

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length"}


@dataclass
class Proxy:
    """The proxy's address, its target, and the token that it adds."""

    url: str
    target: str = ""
    """`host:port`."""
    token: str = ""
    statuses: list[int] = field(default_factory=list[int])
    """The status codes of the answers."""


@contextmanager
def run_proxy() -> Iterator[Proxy]:
    """Run a proxy. `target` and `token` can be set once they are known."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    proxy = Proxy(f"http://127.0.0.1:{server.server_address[1]}")
    server.RequestHandlerClass = _handler(proxy)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def _handler(proxy: Proxy) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            connection = http.client.HTTPConnection(proxy.target, timeout=PATIENCE_SECONDS)
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in HOP_BY_HOP:
                    connection.putheader(name, value)
            connection.putheader("Authorization", f"Bearer {proxy.token}")
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            self.give_back(connection.getresponse())
            connection.close()

        def give_back(self, answer: http.client.HTTPResponse) -> None:
            proxy.statuses.append(answer.status)
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in HOP_BY_HOP:
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            with suppress(OSError):  # the client may have disconnected
                while chunk := answer.read1():
                    self.wfile.write(chunk)
                    self.wfile.flush()

        do_GET = do_POST = do_DELETE = do_OPTIONS = pass_on  # noqa: N815 - the library's names

        def log_message(self, *_: object) -> None:
            pass

    return Handler
