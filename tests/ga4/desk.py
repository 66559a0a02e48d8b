"""Helpers for tests of the Measurement Protocol: requests of a server and of a page."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx

from tests.segment.desk import PAGE, Desk
from tests.support.waiting import PATIENCE_SECONDS

VISITOR = "123456.7654321"


def event(name: str, **params: Any) -> dict[str, Any]:
    return {"name": name, "params": params}


def micros_ago(seconds: float) -> int:
    return round((time.time() - seconds) * 1_000_000)


class Ga4Desk(Desk):
    def request(
        self,
        body: Any,
        key: str | None = None,
        headers: dict[str, str] | None = None,
        path: str = "mp/collect",
    ) -> httpx.Response:
        """Send a body, as bytes or JSON, with the API key unless another is given."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        params = {"measurement_id": "G-1", "api_secret": self.key if key is None else key}
        url = f"{self.base_url}/ga4/{path}"
        return httpx.post(url, params=params, content=content, headers=headers, timeout=PATIENCE_SECONDS)

    def collect(self, *events: dict[str, Any], **members: Any) -> None:
        """Send events from the server, which must be accepted."""
        response = self.request({"client_id": VISITOR, "events": events, **members})
        assert (response.status_code, response.content) == (204, b""), response.text

    def view(self, *events: dict[str, Any], headers: dict[str, str] = PAGE, **members: Any) -> httpx.Response:
        """Send events from a page of the site."""
        return self.request({"client_id": VISITOR, "events": events, **members}, self.site.key, headers)

    def check(self, *events: Any, **members: Any) -> list[tuple[str, str, str]]:
        """Return the path, code and description of each validation message."""
        body = {"client_id": VISITOR, "events": events, **members}
        response = self.request(body, path="debug/mp/collect")
        assert response.status_code == 200, response.text
        return [
            (message["fieldPath"], message["validationCode"], message["description"])
            for message in response.json()["validationMessages"]
        ]
