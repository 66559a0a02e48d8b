"""Helpers for tests of the tracker: a site, the browser's requests, and the resulting rows."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from tests.conftest import Running
from tests.support.factories import Stage
from tests.support.waiting import PATIENCE_SECONDS

ORIGIN = "https://shop.example"
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
    " Chrome/140.0.0.0 Safari/537.36"
)
GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
BROWSER = {"Origin": ORIGIN, "User-Agent": CHROME}


def page(url: str = f"{ORIGIN}/", **members: Any) -> dict[str, Any]:
    return {"type": "page", "key": str(uuid4()), "ago": 0, "url": url, **members}


def identify(**members: Any) -> dict[str, Any]:
    return {"type": "identify", "key": str(uuid4()), "ago": 0, **members}


def event(**members: Any) -> dict[str, Any]:
    values = {"event_name": "purchase", **members}
    return {"type": "event", "key": str(uuid4()), "ago": 0, **values}


@dataclass
class Site:
    """A site, and browsers on its pages."""

    connection: psycopg.Connection
    base_url: str
    space_id: int
    id: int
    key: str

    def post(self, body: bytes | dict[str, Any], **headers: str | None) -> httpx.Response:
        """Post a body unchanged. Headers are given by name, with None for a header to omit."""
        renamed_headers = {name.replace("_", "-").title(): text for name, text in headers.items()}
        request_headers = {
            name: text for name, text in {**BROWSER, **renamed_headers}.items() if text is not None
        }
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return httpx.post(
            f"{self.base_url}/t", content=content, headers=request_headers, timeout=PATIENCE_SECONDS
        )

    def report(self, *items: Any, token: str | None = "tok-1", **members: Any) -> httpx.Response:
        """Post these items, with optional `headers` and further members of the body."""
        headers = members.pop("headers", {})
        body = {"site": self.key, "items": list(items), **members}
        return self.post(body if token is None else {**body, "token": token}, **headers)

    def rows(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the waiting inbox rows as (kind, payload), in order."""
        rows = self.connection.execute(
            "SELECT kind, payload FROM inbox WHERE space_id = %s ORDER BY id", (self.space_id,)
        ).fetchall()
        return [(kind, json.loads(payload)) for kind, payload in rows]

    def payloads(self, kind: str) -> list[dict[str, Any]]:
        return [payload for row_kind, payload in self.rows() if row_kind == kind]


def make_site(stage: Stage, base_url: str, origins: tuple[str, ...] = (ORIGIN,)) -> Site:
    key = "trk_pk_" + secrets.token_urlsafe(18)
    columns = {"name": "Shop", "site_key": key, "origins": list(origins)}
    site_id = stage._insert("sites", columns)
    return Site(stage.connection, base_url, stage.space_id, site_id, key)


@pytest.fixture
def site(stage: Stage, server: Running) -> Site:
    """A site with pages at ORIGIN."""
    return make_site(stage, server.base_url)
