"""A fake server of incoming webhooks like Slack's, on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class PretendSlack:
    """The posted messages, and the answer to them."""

    url: str = ""
    status: int = 200
    messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


@contextmanager
def serve_slack() -> Iterator[PretendSlack]:
    """Run the server."""
    pretend = PretendSlack()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if pretend.status == 200:
                pretend.messages.append(json.loads(body))
            self.send_response(pretend.status)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    pretend.url = f"http://127.0.0.1:{server.server_port}/services/T1/secret"
    try:
        yield pretend
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
