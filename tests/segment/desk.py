"""Helpers for tests of other protocols: a Space with both kinds of key, and the results of messages."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx

from tests.support.pipeline import Stage
from tests.support.sites import CHROME, ORIGIN, Site
from tests.support.waiting import PATIENCE_SECONDS, wait_until

PAGE = {"Origin": ORIGIN, "User-Agent": CHROME}


@dataclass
class Desk:
    base_url: str
    stage: Stage
    key: str
    """An API key."""
    site: Site

    def post(
        self, path: str, body: Any, key: str | None = None, headers: dict[str, str] | None = None
    ) -> httpx.Response:
        """Send a body, as bytes or JSON, with basic authentication unless `key` is empty."""
        user = self.key if key is None else key
        authorization = (
            {"Authorization": f"Basic {base64.b64encode(f'{user}:'.encode()).decode()}"} if user else {}
        )
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        url = f"{self.base_url}/segment/v1/{path}"
        return httpx.post(
            url, content=content, headers={**authorization, **(headers or {})}, timeout=PATIENCE_SECONDS
        )

    def send(self, path: str, **message: Any) -> None:
        """Send one message with the API key, which must be accepted."""
        response = self.post(path, message)
        assert (response.status_code, response.json()) == (200, {"success": True}), response.text

    def browse(self, path: str, **message: Any) -> httpx.Response:
        """Send one message from a page of the site, like the browser library."""
        return self.post(path, {"writeKey": self.site.key, **message}, self.site.key, PAGE)

    def track(self, event: str, user: str = "u1", **properties: Any) -> None:
        self.send("track", userId=user, event=event, properties=properties)

    def rows(self, *names: str, table: str = "events") -> list[tuple[Any, ...]]:
        """Process the inbox, and return columns in order of arrival."""
        self.stage.process()
        columns = ", ".join(names)
        return self.stage.connection.execute(
            f"SELECT {columns} FROM {table} WHERE space_id = %s ORDER BY 1", (self.stage.space_id,)
        ).fetchall()

    def ignored_counts(self) -> list[tuple[str, str, int]]:
        """Return the stored counts of ignored messages."""
        return self.stage.rows("ignored_names", "name", "reason", "times")

    def wait_for_ignored(self, times: int = 1) -> list[tuple[str, str, int]]:
        """Wait until `times` ignored messages are stored, and return their counts."""
        wait_until(lambda: sum(count for *_, count in self.ignored_counts()) >= times)
        return self.ignored_counts()

    def label(self, table: str, column: str, **labels: str) -> None:
        for slot, label in labels.items():
            self.stage.connection.execute(
                f"INSERT INTO {table} (space_id, {column}, label) VALUES (%s, %s, %s)",
                (self.stage.space_id, slot, label),
            )

    def amounts(self) -> list[str]:
        """Return the amounts of orders and refunds, with their cents."""
        return sorted(f"{amount:.2f}" for (amount,) in self.rows("amount"))


def past_time(seconds: float) -> str:
    """Return a time before now, in the format of the libraries."""
    moment = datetime.fromtimestamp(datetime.now(UTC).timestamp() - seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
