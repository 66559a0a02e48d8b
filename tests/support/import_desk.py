"""A Space that files are imported into over the API, and the worker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from headwater.base.storage import LocalFolder
from headwater.intake.imports import job_worker
from tests.conftest import Running
from tests.support.factories import Stage

ORDERS = "event_name,email,order_id,amount\npurchase,a@example.com,1,5.50\npurchase,b@,2,5\n"
SPEND = {"platform": "google", "currency": "EUR"}
YEARS = {"start_date": "2026-01-01 00:00:00", "end_date": "2027-12-31 23:59:59"}
LISTS: dict[str, dict[str, Any]] = {
    "contacts": {**YEARS, "include_custom_fields": 1, "per_page": 100},
    "ads": {"per_page": 500},
    "spend": {"start_date": "2026-01-01", "end_date": "2026-12-31", "per_page": 500},
}
OWN_TO_A_SPACE = ("id", "updated_at", "as_of", "reported_at")


@dataclass
class Desk:
    """A Space's API client, and the worker."""

    client: httpx.Client
    stage: Stage
    folder: Path
    url: str
    earlier_files: frozenset[str]
    """Files left by other tests."""

    def send(self, kind: str, content: bytes | str, **params: Any) -> httpx.Response:
        headers = {"Content-Type": "text/csv"}
        return self.client.post(f"/{kind}/imports", content=content, params=params, headers=headers)

    def begin(self, kind: str, content: bytes | str, **params: Any) -> dict[str, Any]:
        answer = self.send(kind, content, **params)
        assert answer.status_code == 202, answer.text
        return answer.json()

    def refusal(self, kind: str, content: bytes | str, **params: Any) -> dict[str, list[str]]:
        """Return the errors of a refused file, and check that nothing remains of it."""
        answer = self.send(kind, content, **params)
        assert answer.status_code == 422, answer.text
        assert self.remaining_files() == ([], [])
        return answer.json()["errors"]

    def work(self) -> None:
        job_worker.work(self.stage.connection, LocalFolder(self.folder), self.url)

    def get(self, kind: str, import_id: int) -> dict[str, Any]:
        answer = self.client.get(f"/{kind}/imports/{import_id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def remaining_files(self) -> tuple[list[str], list[Any]]:
        """Return the remaining files and imports."""
        files = {path.name for path in self.folder.glob("*.upload*")} - self.earlier_files
        jobs = self.stage.connection.execute(
            "SELECT id, status FROM import_jobs WHERE space_id = %s", (self.stage.space_id,)
        )
        return sorted(files), jobs.fetchall()

    def rows(self, kind: str) -> list[Any]:
        """Return everything that imports of one kind have stored in the Space."""
        if kind in LISTS:
            answer = self.client.get(f"/{kind}", params=LISTS[kind])
            return [
                {name: value for name, value in row.items() if name not in OWN_TO_A_SPACE}
                for row in answer.json()["data"]
            ]
        return self.stage.connection.execute(
            "SELECT payload::json FROM inbox WHERE space_id = %s ORDER BY id", (self.stage.space_id,)
        ).fetchall()


@pytest.fixture
def desk(
    client: httpx.Client, server: Running, space_id: int, connection: psycopg.Connection,
    database_url: str,
) -> Desk:  # fmt: skip
    connection.execute("UPDATE import_jobs SET status = 'cancelled' WHERE status IN"
                       " ('checking', 'queued', 'running')")  # fmt: skip
    folder = server.data_dir / "exports"
    before = frozenset(path.name for path in folder.glob("*.upload*"))
    return Desk(client, Stage(connection, space_id, ""), folder, database_url, before)


def client_for_stage(desk: Desk, stage: Stage) -> httpx.Client:
    headers = {"Authorization": f"Bearer {stage.key}"}
    return httpx.Client(base_url=desk.client.base_url, headers=headers)


def table(header: str, *rows: str) -> str:
    return "\n".join([header, *rows]) + "\n"
