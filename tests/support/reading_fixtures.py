"""Fixtures for tests that read stored events."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg
import pytest

from tests.support.factories import Stage, make_stage

RANGE = {"start_date": "2026-01-01 00:00:00", "end_date": "2026-12-31 23:59:59"}


@pytest.fixture
def stage(connection: psycopg.Connection) -> Stage:
    return make_stage(connection)


class Api:
    """The API as the owner of a Space's key sees it."""

    def __init__(self, client: httpx.Client, key: str) -> None:
        self._client = client
        self.headers = {"Authorization": f"Bearer {key}"}

    def send(self, method: str, path: str, *, accept: str = "*/*", **options: Any) -> httpx.Response:
        headers = {**self.headers, "Accept": accept}
        return self._client.request(method, path, headers=headers, **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.send("GET", path, **options)

    def anonymous(self, method: str, path: str, headers: dict[str, str]) -> httpx.Response:
        """Send a request without a key, to a path of the server rather than of the API."""
        base = str(self._client.base_url).partition("/public-api")[0]
        return httpx.request(method, base + path, headers=headers)

    def list(self, **params: Any) -> httpx.Response:
        """List events, by default of all of 2026."""
        return self.get("/events", params={**RANGE, **params})

    def rows(self, **params: Any) -> list[dict[str, Any]]:
        response = self.list(**params)
        assert response.status_code == 200, response.text
        return response.json()["data"]

    def errors(self, **params: Any) -> dict[str, list[str]]:
        response = self.list(**params)
        assert response.status_code == 422, response.text
        return response.json()["errors"]


def journey_items(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a contact's event items as journeys show them: with the currency of their amounts."""
    return [
        {**item, "currency": "USD", "amount_in_space_currency": item["amount"]}
        if item["type"] == "conversion" else item
        for item in items
    ]  # fmt: skip


@pytest.fixture
def api(client: httpx.Client, stage: Stage) -> Api:
    return Api(client, stage.key)
