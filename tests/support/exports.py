"""Helpers for tests of exports: request one, process it, read its file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from headwater.base.storage import LocalFolder
from headwater.exports.worker import work
from tests.support.reading_fixtures import Api


class Exports:
    """Exports as the owner of a Space's key sees them. They are processed here, when a test calls for it."""

    def __init__(self, api: Api, connection: psycopg.Connection, url: str, folder: Path) -> None:
        self.api = api
        self.connection = connection
        self.url = url
        self.storage = LocalFolder(folder)

    def ask(self, kind: str = "events", **body: Any) -> int:
        response = self.api.send("POST", f"/{kind}/exports", json=body)
        assert response.status_code == 202, response.text
        return response.json()["export_id"]

    def refusal(self, kind: str = "events", **body: Any) -> dict[str, list[str]]:
        response = self.api.send("POST", f"/{kind}/exports", json=body)
        assert response.status_code == 422, response.text
        return response.json()["errors"]

    def work(self) -> int:
        return work(self.connection, self.storage, self.url)

    def status(self, export_id: int, kind: str = "events") -> dict[str, Any]:
        response = self.api.get(f"/{kind}/exports/{export_id}")
        assert response.status_code == 200, response.text
        return response.json()

    def fetch(self, link: str, method: str = "GET", **headers: str) -> httpx.Response:
        """Request a download link. It needs no key."""
        parts = urlsplit(link)
        return self.api.anonymous(method, f"{parts.path}?{parts.query}", headers)

    def lines(self, export_id: int, kind: str = "events") -> list[dict[str, Any]]:
        """Return the rows in the file of a completed export."""
        export = self.status(export_id, kind)
        assert export["status"] == "completed", export
        answer = self.fetch(export["download_url"])
        assert answer.status_code == 200, answer.text
        return [json.loads(line) for line in gzip.decompress(answer.content).splitlines()]

    def export(self, kind: str = "events", **body: Any) -> list[dict[str, Any]]:
        """Request an export, process it and read its file."""
        export_id = self.ask(kind, **body)
        self.work()
        return self.lines(export_id, kind)


@pytest.fixture
def exports(api: Api, connection: psycopg.Connection, database_url: str, data_dir: Path) -> Exports:
    connection.execute(  # the worker processes the whole installation: jobs of other tests must go
        "UPDATE exports SET status = 'failed' WHERE status IN ('queued', 'processing')"
    )
    return Exports(api, connection, database_url, data_dir / "exports")
