"""The reference page: whole without any network, under a policy that lets nothing else run."""

from __future__ import annotations

import re

import httpx
import pytest

from headwater.settings import Settings
from tests.conftest import Running, run_application

LOADED = re.compile(r'(?:src|href)="([^"]*)"')


@pytest.fixture
def page(server: Running) -> httpx.Response:
    return httpx.get(f"{server.base_url}/docs")


def test_it_works(page: httpx.Response) -> None:
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "API reference</title>" in page.text


def test_all_it_loads_comes_from_here(server: Running, page: httpx.Response) -> None:
    loaded = [address for address in LOADED.findall(page.text) if address != "data:,"]
    assert len(loaded) == 3
    for address in loaded:
        assert address.startswith("/docs/")
        response = httpx.get(server.base_url + address)
        assert response.status_code == 200
        assert response.headers["x-content-type-options"] == "nosniff"
        assert len(response.content) > 100
    style = httpx.get(f"{server.base_url}/docs/swagger-ui.css").text
    assert not re.findall(r"@import|url\((?![\"']?data:)", style)
    start = httpx.get(f"{server.base_url}/docs/start.js").text
    assert 'url: "/public-api/v1/openapi.json"' in start
    assert "http" not in page.text + start


def test_the_policy_is_strict(page: httpx.Response) -> None:
    parts = page.headers["content-security-policy"].split("; ")
    policy = {name: sources for name, _, sources in (part.partition(" ") for part in parts)}
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert "<script>" not in page.text
    assert not re.findall(r"\son\w+=", page.text)
    assert page.headers["x-content-type-options"] == "nosniff"


def test_the_brand_is_text(database_url: str) -> None:
    branded = run_application(Settings(brand="<script>alert(1)</script>&amp;"), database_url)
    text = httpx.get(f"{branded.base_url}/docs").text
    branded.stop()
    assert "<script>alert" not in text
    assert "&amp;amp; API reference" in text
