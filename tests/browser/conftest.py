"""A real browser, and a small shop for it on its own hosts. The browser is Debian's Chromium, in its headless
build if that is installed. It resolves every *.example to this machine.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Frame, Page, sync_playwright

from tests.conftest import Running
from tests.support.factories import Stage
from tests.support.sites import Site, make_site
from tests.support.waiting import PATIENCE_SECONDS, wait_until

REQUIRED = "HEADWATER_TEST_BROWSER"
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP *.example 127.0.0.1",
]  # fmt: skip
STUB = (
    "window.trk=window.trk||{q:[]};['identify','track','page','consent'].forEach("
    "function(m){trk[m]=trk[m]||function(){trk.q.push([m,arguments])}})"
)
"""The stub in docs/tracker.md."""


READY = "() => window.trk && trk.site && window.trk.q.push !== [].push"


def wait_until_ready(page: Page | Frame) -> None:
    page.wait_for_function(READY)


def cookie(context: BrowserContext) -> Any:
    (token_cookie,) = [candidate for candidate in context.cookies() if candidate["name"] == "trk_token"]
    return token_cookie


def idle(page: Page) -> None:
    """Wait until the script has finished its immediate work."""
    page.wait_for_load_state("networkidle")


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """A running Chromium. Without Chromium these tests are skipped, or fail if it is required. It ends with
    this package, because its driver keeps an event loop running in the tests' thread.
    """
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if path is None:
        reason = "no chromium found: install it (Debian: apt-get install chromium-headless-shell)"
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def make_page(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """A function that opens pages, each in its own context with the given options. Pages don't fade by
    default, because a fade keeps the processor busy.
    """
    contexts: list[BrowserContext] = []

    def open_one(**options: Any) -> Page:
        context = chromium.new_context(**({"reduced_motion": "reduce"} | options))
        contexts.append(context)
        return context.new_page()

    yield open_one
    for context in contexts:
        context.close()


class _Pages(BaseHTTPRequestHandler):
    """Serves the page stored under a path, for any host and query."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        text = self.server.pages.get(path)  # type: ignore[attr-defined]
        body = (text or "nothing here").encode()
        self.send_response(404 if text is None else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@dataclass
class Shop:
    """Pages on any host of *.example, and a Headwater that they report to."""

    port: int
    hub_port: int
    site: Site
    pages: dict[str, str]

    def url(self, path: str = "/", host: str = "www.shop.example") -> str:
        return f"http://{host}:{self.port}{path}"

    def snippet(self, attributes: str = "", hub: str = "hw.shop.example") -> str:
        source = f"http://{hub}:{self.hub_port}/t.js"
        return f'<script async src="{source}" data-site="{self.site.key}" {attributes}></script>'

    def put(self, path: str, body: str = "", attributes: str = "", hub: str | None = None) -> None:
        """Store a page with the tracker."""
        snippet = self.snippet(attributes, **({"hub": hub} if hub else {}))
        self.pages[path] = f"<!doctype html><title>Shop</title><script>{STUB}</script>{snippet}{body}"

    def wait_for_items(self, kind: str, count: int) -> list[dict[str, Any]]:
        """Return the items of a kind in order of arrival, once `count` have arrived. A page that is left
        early can't tell whether its report arrived, so the next page sends it again: it counts once.
        """

        def find_items() -> dict[str, dict[str, Any]]:
            rows: dict[str, dict[str, Any]] = {}
            for row in self.site.payloads(kind):
                rows.setdefault(row[SAME_BY[kind]], row)
            return rows

        wait_until(lambda: len(find_items()) >= count, description=f"{count} of {kind}")
        rows = list(find_items().values())
        assert len(rows) == count, rows
        return rows


SAME_BY = {"hit": "key", "event": "idempotency_key", "identify": "email"}


@contextmanager
def serve_pages(pages: dict[str, str]) -> Iterator[int]:
    """Serve pages by path, and yield the port."""
    listener = ThreadingHTTPServer(("127.0.0.1", 0), _Pages)
    listener.pages = pages  # type: ignore[attr-defined]
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield listener.server_port
    listener.shutdown()
    thread.join()
    listener.server_close()


@pytest.fixture
def shop(stage: Stage, server: Running) -> Iterator[Shop]:
    pages: dict[str, str] = {}
    with serve_pages(pages) as port:
        shop = make_shop(stage, server, port, pages)
        shop.put("/")
        yield shop


def make_shop(stage: Stage, server: Running, port: int, pages: dict[str, str]) -> Shop:
    origins = (f"http://*.shop.example:{port}", f"http://shop.example:{port}",
               f"http://127.0.0.1:{port}")  # fmt: skip
    site = make_site(stage, server.base_url, origins)
    return Shop(port, int(server.base_url.rpartition(":")[2]), site, pages)


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    context = chromium.new_context(locale="en-GB")
    yield context
    context.close()


@pytest.fixture
def open_page(context: BrowserContext) -> Callable[[], Page]:
    """A function that opens a new page; any script error on it fails the test."""

    def open_one() -> Page:
        page = context.new_page()
        page.on("pageerror", lambda error: pytest.fail(f"an error on the page: {error}"))
        page.set_default_timeout(1000 * PATIENCE_SECONDS)
        return page

    return open_one


@pytest.fixture
def page(open_page: Callable[[], Page]) -> Page:
    return open_page()
