"""Headwater behind nginx and Caddy as set up by `deploy/` and docs/install.md."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import psycopg
import pytest
from mcp.server import _streamable_http_modern as streaming

from headwater.app import create_app
from headwater.base.settings import Settings
from headwater.http.clients import client_address
from headwater.intake.tracker import endpoint
from tests.conftest import Running, run_application
from tests.mcp.assistants import Assistant, connect
from tests.packaging.proxies import NAME, PROXIES, SHOP, Proxy, start
from tests.support.factories import Stage
from tests.support.sites import CHROME, make_site, page
from tests.support.sizes import ROOT
from tests.support.waiting import PATIENCE_SECONDS, wait_until

REQUIRED = os.environ.get("HEADWATER_TEST_PROXIES") == "required"
ADDRESS = f"https://{NAME}"
PAGE = (ROOT / "docs" / "install.md").read_text()
LISTED_PATHS = re.findall(r"`(/[^`]*)`", PAGE[PAGE.index("| Paths | For |") :].partition("\n\n")[0])


@pytest.fixture(scope="module")
def upstream(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Headwater with the documented settings: it knows its address and trusts the proxy."""
    settings = Settings(
        rate_limit_factor=1000, base_url=ADDRESS, data_dir=tmp_path_factory.mktemp("behind"),
        trusted_proxies=(ip_network("127.0.0.1"),),
    )  # fmt: skip
    application = run_application(settings, database_url)
    yield application.base_url.removeprefix("http://")
    application.stop()


@pytest.fixture(scope="module", params=list(PROXIES))
def proxy(
    request: pytest.FixtureRequest, upstream: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp(request.param)
    front_server = start(request.param, folder, upstream, required=REQUIRED)

    def listens() -> bool:
        assert front_server.process.poll() is None, (folder / "log").read_text()
        result = subprocess.run(front_server.curl(f"{ADDRESS}/"), capture_output=True, check=False)
        return result.returncode == 0

    try:
        wait_until(listens)
        yield front_server
    finally:
        front_server.process.terminate()
        front_server.process.wait(PATIENCE_SECONDS)


@pytest.fixture
def assistant(upstream: str, connection: psycopg.Connection, stage: Stage) -> Iterator[Assistant]:
    application = Running(f"http://{upstream}", lambda: None, Path())
    with connect(application, connection, stage.space_id) as assistant:
        yield assistant


def test_it_works(proxy: Proxy) -> None:
    """It answers over TLS and HTTP/2, and refuses plain HTTP."""
    answer = proxy.get(f"{ADDRESS}/docs")
    assert (answer.status, answer.version) == (200, "2")
    assert answer.headers["strict-transport-security"] == "max-age=31536000; includeSubDomains"
    error_page = proxy.get(f"{ADDRESS}/elsewhere")
    assert "strict-transport-security" in error_page.headers


@pytest.mark.parametrize(
    "path", ["/", "/docs", "/docs/events", "/console", "/console/spaces/1/keys?tab=1", "/login",
             "/login/sso/office", "/shared/x", "/mail/x"],
)  # fmt: skip
def test_pages_move_to_https(proxy: Proxy, path: str) -> None:
    answer = proxy.get(f"http://{NAME}{path}")
    assert answer.status in {301, 308}
    assert answer.headers["location"] == f"{ADDRESS}{path}"


@pytest.mark.parametrize(
    "path", ["/public-api/v1/events", "/public-api/v1/events/imports", "/mcp/1/public-api", "/webhooks/x",
             "/t", "/t.js", "/downloads/x", "/segment/v1/batch", "/ga4/mp/collect",
             "/.well-known/oauth-authorization-server"],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_programs_without_tls_notice(proxy: Proxy, path: str, method: str) -> None:
    answer = proxy.get(f"http://{NAME}{path}", "--request", method)
    assert answer.status == 403
    assert "https" in answer.body
    assert "location" not in answer.headers


@pytest.mark.parametrize(
    "cipher", ["AES256-GCM-SHA384", "ECDHE-ECDSA-AES256-SHA", "ECDHE-RSA-AES256-SHA", "AES128-SHA"]
)
def test_weak_ciphers_are_refused(proxy: Proxy, cipher: str) -> None:
    """Ciphers without forward secrecy, or unauthenticated ones."""
    options = ("--tls-max", "1.2", "--ciphers", f"{cipher}:@SECLEVEL=0", "--output", "/dev/null")
    result = subprocess.run(proxy.curl(f"{ADDRESS}/docs", *options), capture_output=True, check=False)
    assert result.returncode == 35, result.stderr
    strong_options = (
        "--tls-max",
        "1.2",
        "--ciphers",
        "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384",
    )
    assert proxy.get(f"{ADDRESS}/docs", *strong_options).status == 200


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/readyz", "/elsewhere", "/docsx/../metrics"])
def test_what_is_nobodys_business(proxy: Proxy, path: str) -> None:
    answer = proxy.get(f"{ADDRESS}{path}", "--path-as-is")
    assert answer.status in {400, 404}
    assert "headwater_" not in answer.body


@pytest.mark.parametrize(
    ("path", "status"),
    [("/public-api/v1/openapi.json", 200), ("/t.js", 200), ("/login", 200), ("/", 303),
     ("/favicon.ico", 200), ("/console", 303), ("/mcp/1/public-api", 401), ("/downloads/x", 404),
     ("/.well-known/oauth-authorization-server", 200), ("/.well-known/openid-configuration", 200),
     ("/webhooks/x", 405), ("/segment/v1/batch", 405), ("/ga4/mp/collect", 405), ("/login/factor", 303),
     ("/login/sso/x", 404), ("/shared/x", 404), ("/mail/x", 404)],
)  # fmt: skip
def test_what_is_published(proxy: Proxy, path: str, status: int) -> None:
    """Headwater answers, not the proxy: all its answers forbid sniffing."""
    answer = proxy.get(f"{ADDRESS}{path}")
    assert answer.status == status, answer
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_page_lists_every_path_of_the_service(database_url: str, tmp_path: Path) -> None:
    """Except those of the operator's own network. The chart's ingress has the page's paths."""
    parts = vars(create_app(Settings(data_dir=tmp_path), database_url, ADDRESS))
    paths = [path for _, path in parts["_busiest"]] + [route.path for route in parts["_routed"].routes]
    served = {path.split("/")[1] for path in paths} - {"{path:path}", ".well-known"}
    listed = {path.split("/")[1] for path in LISTED_PATHS} - {".well-known"}
    assert served == listed | {"healthz", "readyz", "metrics"}


def test_large_files_for_the_api_pass(proxy: Proxy, tmp_path: Path, stage: Stage) -> None:
    file = tmp_path / "orders.csv"
    file.write_bytes(b"order_id,email,amount\n" + b"1,ada@example.com,1.00\n" * 400_000)
    answer = proxy.get(
        f"{ADDRESS}/public-api/v1/events/imports?event_name=purchase", "--data-binary", f"@{file}",
        "--header", "Content-Type: text/csv", "--header", "Expect:",
        "--header", f"Authorization: Bearer {stage.key}",
    )  # fmt: skip
    assert answer.status == 202, answer


def test_the_way_to_a_token_is_published(proxy: Proxy) -> None:
    metadata = json.loads(proxy.get(f"{ADDRESS}/.well-known/oauth-authorization-server").body)
    endpoints = [value for name, value in metadata.items() if name.endswith("_endpoint")]
    assert len(endpoints) > 2
    for url in endpoints:
        assert url.startswith(ADDRESS)
        assert proxy.get(url).body


def test_bodies_pass(proxy: Proxy, tmp_path: Path, stage: Stage) -> None:
    """Bodies up to Headwater's own limit pass. The key is valid, so that Headwater answers after the whole
    body: Caddy may drop an answer that overtakes the body.
    """
    file = tmp_path / "body"
    file.write_bytes(b" " * 7_900_000)
    answer = proxy.get(
        f"{ADDRESS}/public-api/v1/events/batch", "--data-binary", f"@{file}",
        "--header", "Content-Type: application/json", "--header", "Expect:",
        "--header", f"Authorization: Bearer {stage.key}",
    )  # fmt: skip
    assert answer.status == 422, answer
    assert json.loads(answer.body)["message"]


def test_the_tracker_under_the_shops_own_domain(
    proxy: Proxy, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cookie belongs to the shop, and the address is the visitor's, regardless of headers."""
    addresses: list[str | None] = []

    def note_address(*arguments: Any) -> str | None:
        addresses.append(client_address(*arguments))
        return addresses[-1]

    monkeypatch.setattr(endpoint, "client_address", note_address)
    site = make_site(stage, "", (f"https://{SHOP}",))
    script = proxy.get(f"https://{SHOP}/hw/t.js")
    assert script.status == 200
    assert "javascript" in script.headers["content-type"]
    body = json.dumps({"site": site.key, "items": [page(f"https://{SHOP}/")], "token": "tok-1"})
    answer = proxy.get(
        f"https://{SHOP}/hw/t", "--data", body, "--user-agent", CHROME,
        "--header", f"Origin: https://{SHOP}", "--header", "X-Forwarded-For: 203.0.113.9",
    )  # fmt: skip
    assert answer.status == 202, answer
    assert "Domain=example.com" in answer.headers["set-cookie"]
    assert "Secure" in answer.headers["set-cookie"]
    assert [kind for kind, _ in site.rows()] == ["hit"]
    assert set(addresses) == {"127.0.0.1"}
    assert proxy.get(f"https://{SHOP}/hw/login").status == 404


def test_assistants_find_their_way(proxy: Proxy, assistant: Assistant) -> None:
    url = f"{ADDRESS}/mcp/{assistant.space_id}/public-api"
    first_answer = proxy.get(url, "--data", "{}", "--header", "Content-Type: application/json")
    assert first_answer.status == 401
    metadata_url = first_answer.headers["www-authenticate"].split('"')[1]
    assert metadata_url.startswith(f"{ADDRESS}/.well-known/")
    assert json.loads(proxy.get(metadata_url).body)["resource"] == url


def test_an_answer_that_streams(
    proxy: Proxy, assistant: Assistant, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The beginning arrives while the tool still works, and the result afterwards."""
    monkeypatch.setattr(streaming, "_SSE_PING_INTERVAL", 0.1)
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "list_companies", "arguments": {},
        "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                  "io.modelcontextprotocol/clientCapabilities": {}}}}  # fmt: skip
    command = proxy.curl(
        f"{ADDRESS}/mcp/{assistant.space_id}/public-api", "--no-buffer",
        "--data", json.dumps(body), "--header", f"Authorization: Bearer {assistant.token}",
        "--header", "Content-Type: application/json",
        "--header", "MCP-Protocol-Version: 2026-07-28",
        "--header", "Mcp-Method: tools/call", "--header", "Mcp-Name: list_companies",
        "--header", "Accept: application/json, text/event-stream",
    )  # fmt: skip
    with psycopg.connect(database_url) as locker:
        locker.execute("LOCK TABLE companies IN ACCESS EXCLUSIVE MODE")
        curl = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert curl.stdout is not None
        first = curl.stdout.readline()
        locker.rollback()
    remainder = curl.stdout.read()
    assert curl.wait() == 0
    curl.stdout.close()
    assert first.startswith(":"), first + remainder
    assert '"structuredContent"' in remainder


@pytest.mark.parametrize("name", list(PROXIES))
def test_the_page_shows_what_was_tested(name: str) -> None:
    section = re.split(r"^#{2,3} ", PAGE, flags=re.MULTILINE)
    (chapter_text,) = [chapter for chapter in section if chapter.lower().startswith(f"{name}\n")]
    files = sorted((ROOT / "deploy" / name).iterdir())
    assert re.findall(r"^```\n(.*?)^```$", chapter_text, re.MULTILINE | re.DOTALL) == [
        path.read_text() for path in files
    ]
