"""A shop on its own origin, with a different fault on every page."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from headwater.spaces.sites.snippets import STUB

OTHER_KEY = "trk_pk_" + "x" * 24
NO_STORAGE = (
    "<script>Object.defineProperty(document, 'cookie', {get: () => '', set: () => {}});"
    "Object.defineProperty(window, 'localStorage', {get: () => { throw new Error('no') }})</script>"
)


@dataclass
class FaultyShop:
    """A shop with a different fault on every page; `key` and `hub` are put into its pages."""

    port: int = 0
    hub: str = ""
    key: str = ""

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def page(self, path: str) -> tuple[int, dict[str, str], str]:
        """Return the answer at a path."""
        key, source, more = self.key, f"{self.hub}/t.js", ""
        headers: dict[str, str] = {}
        if path == "/redirect":
            return 302, {"Location": "/landing"}, ""
        if path == "/gone/t.js":
            return 404, {}, "nothing here"
        if path == "/absent":
            return 200, {}, "<!doctype html><title>Shop</title>"
        if path == "/key":
            key = OTHER_KEY
        if path == "/consent":
            more = 'data-consent="required"'
        if path == "/address":
            source = f"{self.origin}/gone/t.js"
        if path == "/policy":
            headers["Content-Security-Policy"] = "script-src 'self' 'unsafe-inline'"
        before = NO_STORAGE if path == "/cookie" else ""
        tag = f'<script async src="{source}" data-site="{key}" {more}></script>'
        return 200, headers, f"<!doctype html><title>Shop</title>{before}{STUB}{tag}"


@pytest.fixture(scope="module")
def faulty_shop() -> Iterator[FaultyShop]:
    shop = FaultyShop()

    class Pages(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, headers, text = shop.page(self.path.partition("?")[0])
            body = text.encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Type": "text/html"}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    shop.port = listener.server_port
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield shop
    listener.shutdown()
    thread.join()
    listener.server_close()
