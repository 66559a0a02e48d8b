"""Reading a page: redirects, policies, the script behind its tag, and malicious pages."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from headwater.alerts.site_tests import probe as probing
from headwater.alerts.site_tests.models import PageProbe, ScriptState
from headwater.alerts.site_tests.probe import MARK, ProbeTarget, probe_page, with_click
from headwater.base.egress.client import Egress
from headwater.intake.tracker.script import make_script

KEY = "trk_pk_" + "a" * 24
CLICK = "hwtest-1"
OWN = "https://hw.example/t.js"

Page = tuple[int, list[tuple[str, str]], bytes]


@dataclass
class Pages:
    port: int = 0
    pages: dict[str, Page] = field(default_factory=dict[str, Page])
    requested_paths: list[str] = field(default_factory=list[str])
    release: threading.Event = field(default_factory=threading.Event)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def put(self, path: str, body: str | bytes = b"", status: int = 200, **headers: str) -> None:
        content = body if isinstance(body, bytes) else body.encode()
        header_fields = [(name.replace("_", "-"), value) for name, value in headers.items()]
        self.pages[path] = (status, header_fields, content)

    def tag(self, source: str = OWN) -> str:
        return f'<script async src="{source}" data-site="{KEY}"></script>'


@pytest.fixture
def pages() -> Iterator[Pages]:
    served = Pages()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.requested_paths.append(self.path)
            path = self.path.partition("?")[0]
            if path == "/slow":
                served.release.wait(30)
            status, headers, body = served.pages.get(path, (404, [], b""))
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.port = listener.server_port
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield served
    served.release.set()
    listener.shutdown()
    thread.join()
    listener.server_close()


@pytest.fixture
def read_page(pages: Pages) -> Callable[..., PageProbe]:
    def run(path: str = "/", script_url: str = OWN) -> PageProbe:
        async def run_probe() -> PageProbe:
            async with Egress(("127.0.0.1",)) as egress:
                target = ProbeTarget(pages.origin + path, CLICK, script_url, "/t")
                return await probe_page(egress, target)

        return asyncio.run(run_probe())

    return run


def test_it_works(pages: Pages, read_page: Callable[..., PageProbe]) -> None:
    pages.put("/", pages.tag())
    probe = read_page("/?a=b#c")
    assert pages.requested_paths == [f"/?a=b&gclid={CLICK}"]
    assert (probe.failure, probe.final_url, probe.lost_between) == ("", f"{pages.origin}/", None)
    (tag,) = probe.tags
    assert (tag.source, tag.key, tag.script) == (OWN, KEY, ScriptState.OWN)
    assert (tag.script_blocked_by, tag.reports_blocked_by) == ("", "")


def test_redirects(pages: Pages, read_page: Callable[..., PageProbe]) -> None:
    pages.put("/", status=301, Location=f"/a?gclid={CLICK}&x=1")
    pages.put("/a", status=302, Location="/b?x=ü")
    pages.put("/b", status=307, Location="//127.0.0.1:" + str(pages.port) + "/c")
    pages.put("/c", pages.tag())
    probe = read_page()
    assert probe.final_url == f"{pages.origin}/c"
    assert probe.lost_between == (f"{pages.origin}/a", f"{pages.origin}/b")
    pages.put("/c", status=302, Location=f"/d?gclid={CLICK}")
    pages.put("/d", pages.tag())
    assert read_page().lost_between is None, "it came back"
    pages.put("/d", status=302, Location="/")
    assert "redirects more than" in read_page().failure


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("http://127.0.0.2/", "only called by https"),
        ("https://169.254.169.254/latest/meta-data", "has an address that is"),
        ("https://10.0.0.1/", "has an address that is"),
        ("https://user:secret@shop.example/", "names a user"),
        ("ftp://shop.example/", "an invalid address"),
        ("https://[", "an invalid address"),
    ],
)
def test_every_hop_is_guarded(
    pages: Pages, read_page: Callable[..., PageProbe], location: str, message: str
) -> None:
    pages.put("/", status=302, Location=location)
    probe = read_page()
    assert message in probe.failure
    assert "secret" not in probe.failure
    pages.put("/", pages.tag(location))
    (tag,) = read_page().tags
    assert tag.script is ScriptState.MISSING


def test_policies(pages: Pages, read_page: Callable[..., PageProbe]) -> None:
    """Every header counts, and so does the page's own policy."""
    pages.put("/", pages.tag())
    status, _, body = pages.pages["/"]
    policies = [("Content-Security-Policy", "script-src 'none'"),
                ("Content-Security-Policy", "connect-src *"),
                ("Content-Security-Policy-Report-Only", "default-src 'none'")]  # fmt: skip
    pages.pages["/"] = (status, policies, body)
    (tag,) = read_page().tags
    assert (tag.script_blocked_by, tag.reports_blocked_by) == ("script-src", "")
    meta = '<meta http-equiv="content-security-policy" content="connect-src \'self\'">'
    pages.put("/", meta + pages.tag())
    (tag,) = read_page().tags
    assert (tag.script_blocked_by, tag.reports_blocked_by) == ("", "connect-src")


def test_the_script_behind_the_tag(pages: Pages, read_page: Callable[..., PageProbe]) -> None:
    pages.put("/", pages.tag("/hw/t.js"))
    (tag,) = read_page().tags
    assert (tag.script, tag.script_fault) == (ScriptState.MISSING, "answers HTTP 404")
    pages.put("/hw/t.js", "alert(1)")
    (tag,) = read_page().tags
    assert tag.script_fault == "is not the tracker's script"
    script = make_script("/t.js", "/t")
    assert MARK in script
    pages.put("/hw/t.js", script)
    (tag,) = read_page().tags
    assert (tag.script, tag.source) == (ScriptState.PASSED_ON, f"{pages.origin}/hw/t.js")
    pages.put("/", pages.tag("https://nowhere.invalid/t.js"))
    (tag,) = read_page().tags
    assert tag.script is ScriptState.MISSING
    assert tag.script_fault.startswith("cannot be opened (nowhere.invalid")


@pytest.mark.parametrize(
    ("source", "page_url", "state"),
    [
        ("http://hw.example/t.js", "https://shop.example/", ScriptState.INSECURE),
        ("https://127.0.0.1:8080/t.js", "https://shop.example/", ScriptState.LOCAL),
        ("https://localhost/t.js", "https://shop.example/", ScriptState.LOCAL),
        (OWN, "https://shop.example/", ScriptState.OWN),
    ],
)
def test_addresses_that_need_no_request(source: str, page_url: str, state: ScriptState) -> None:
    target = ProbeTarget(page_url, CLICK, OWN, "/t")
    probe = probing._Probing(None, target)  # type: ignore[arg-type] # no request is sent
    assert asyncio.run(probe._script(source, page_url)) == (state, "")


def test_pages_that_cannot_be_read(
    pages: Pages, read_page: Callable[..., PageProbe], monkeypatch: pytest.MonkeyPatch
) -> None:
    pages.put("/", status=503)
    assert read_page().failure == "The page answered the server with HTTP 503."
    monkeypatch.setattr(probing, "SECONDS", 0.3)
    assert read_page("/slow").failure


def test_a_page_is_read_as_far_as_a_bound(pages: Pages, read_page: Callable[..., PageProbe]) -> None:
    pages.put("/", b"\xff\x00" + pages.tag().encode() + b" " * 2_000_000 + b"GTM-ABC123")
    probe = read_page()
    assert (len(probe.tags), probe.is_cut, probe.has_tag_manager) == (1, True, False)


def test_the_address_of_a_click() -> None:
    assert with_click("https://a.example", "x") == "https://a.example/?gclid=x"
    assert with_click("https://a.example/b?c=d#e", "x&y") == "https://a.example/b?c=d&gclid=x%26y"
