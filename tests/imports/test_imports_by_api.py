"""Imports over the API: a file is read as at a terminal, or the answer names what has to be given
beside it and nothing is left behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import httpx
import psycopg
import pytest

from headwater.imports import job_worker, reception
from headwater.imports.dialects import FileSurvey
from headwater.storage import LocalFolder
from tests.conftest import Running
from tests.imports.test_one_reader import (
    AMOUNTS,
    ENCODINGS,
    KINDS,
    LINE_ENDS,
    NAMES,
    SEPARATORS,
    TIMES,
    amount_text,
    encode,
    some_events,
    write,
)
from tests.support.factories import Stage, make_stage
from tests.support.importing import Importer

INSTANCES = 24
YEARS = {"start_date": "2026-01-01 00:00:00", "end_date": "2027-12-31 23:59:59"}
LISTS: dict[str, dict[str, Any]] = {
    "contacts": {**YEARS, "include_custom_fields": 1, "per_page": 100},
    "ads": {"per_page": 500},
    "spend": {"start_date": "2026-01-01", "end_date": "2026-12-31", "per_page": 500},
}
OWN_TO_A_SPACE = ("id", "updated_at", "as_of", "reported_at")
ORDERS = "event_name,email,order_id,amount\npurchase,a@example.com,1,5.50\npurchase,b@,2,5\n"


@dataclass
class Desk:
    """A Space's key, and the worker."""

    client: httpx.Client
    stage: Stage
    folder: Path
    url: str
    before: frozenset[str]
    """Files that other tests have left."""

    def send(self, kind: str, content: bytes | str, **params: Any) -> httpx.Response:
        headers = {"Content-Type": "text/csv"}
        return self.client.post(f"/{kind}/imports", content=content, params=params, headers=headers)

    def begin(self, kind: str, content: bytes | str, **params: Any) -> dict[str, Any]:
        answer = self.send(kind, content, **params)
        assert answer.status_code == 202, answer.text
        return answer.json()

    def refusal(self, kind: str, content: bytes | str, **params: Any) -> dict[str, list[str]]:
        """The errors of a file that is refused, of which nothing is left."""
        answer = self.send(kind, content, **params)
        assert answer.status_code == 422, answer.text
        assert self.left() == ([], [])
        return answer.json()["errors"]

    def work(self) -> None:
        job_worker.work(self.stage.connection, LocalFolder(self.folder), self.url)

    def get(self, kind: str, import_id: int) -> dict[str, Any]:
        answer = self.client.get(f"/{kind}/imports/{import_id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def left(self) -> tuple[list[str], list[Any]]:
        """Files and imports."""
        files = {path.name for path in self.folder.glob("*.upload*")} - self.before
        jobs = self.stage.connection.execute(
            "SELECT id, status FROM import_jobs WHERE space_id = %s", (self.stage.space_id,)
        )
        return sorted(files), jobs.fetchall()

    def rows(self, kind: str) -> list[Any]:
        """Everything that imports of a kind have stored in the Space."""
        if kind in LISTS:
            answer = self.client.get(f"/{kind}", params=LISTS[kind])
            return [
                {name: value for name, value in row.items() if name not in OWN_TO_A_SPACE}
                for row in answer.json()["data"]
            ]
        return self.stage.connection.execute(
            "SELECT payload::json FROM inbox WHERE space_id = %s ORDER BY id",
            (self.stage.space_id,),
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


def test_it_works(desk: Desk) -> None:
    queued = desk.begin("events", ORDERS, name="orders.csv")
    assert queued["status"] == "queued"
    assert queued["reading"] == {
        "columns": {name: name for name in ("event_name", "email", "order_id", "amount")},
        "constants": {}, "timezone": "UTC", "decimals": "point", "dates": "iso",
        "separator": "comma", "encoding": "utf-8",
    }  # fmt: skip
    assert desk.get("events", queued["import_id"])["status"] == "queued"
    desk.work()
    done = desk.get("events", queued["import_id"])
    (refusal,) = done.pop("refusals")
    assert (refusal["row"], refusal["line"]) == (2, 3)
    assert "email" in refusal["reason"]
    assert {name: done[name] for name in ("kind", "name", "status", "rows_done")} == {
        "kind": "events", "name": "orders.csv", "status": "finished", "rows_done": 2,
    }  # fmt: skip
    assert (done["stored"], done["refused"]) == (1, 1)
    assert len(desk.rows("events")) == 1


def by_chance(rows: list[dict[str, str]], dice: Random) -> bytes:
    """A table in any encoding, with any separator and line end."""
    text = write(rows, dice.choice(SEPARATORS), dice.choice(LINE_ENDS), dice)
    return encode(text, dice.choice(ENCODINGS))


def some_orders(number: int, dice: Random) -> list[dict[str, str]]:
    style, form = dice.choice([*AMOUNTS]), dice.choice(TIMES)
    rows = [
        {"order_id": f"{number}-{order}", "event_name": "purchase", "email": f"{order}@example.com",
         "amount": amount_text(style, amount), "event_time": moment.strftime(form),
         "full_name": name}
        for order, amount, moment, name in some_events(dice)
    ]  # fmt: skip
    total = dict.fromkeys(rows[0], "") | {"order_id": "Gesamt", "amount": rows[0]["amount"]}
    return [*rows, total] if dice.random() < 0.5 else rows


def some_spend(number: int, dice: Random) -> list[dict[str, str]]:
    style = dice.choice([style for style in AMOUNTS if not set(style) & set("€E")])
    form = dice.choice(("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d %b %Y"))
    rows = [
        {"Day": moment.strftime(form), "Campaign ID": f"{number}{order}", "Campaign": name,
         "Cost": amount_text(style, amount), "Clicks": str(order)}
        for order, (_, amount, moment, name) in enumerate(some_events(dice))
    ]  # fmt: skip
    total = dict.fromkeys(rows[0], "") | {"Day": "Total", "Cost": rows[0]["Cost"]}
    return [*rows, total] if dice.random() < 0.5 else rows


def some_rows(kind: str, number: int, dice: Random) -> list[dict[str, str]]:
    if kind == "events":
        return some_orders(number, dice)
    if kind == "spend":
        return some_spend(number, dice)
    name = {"contacts": "email", "touchpoints": "campaign_name", "ads": "id"}[kind]
    return [{**row, name: f"{number}-{row[name]}"} for row in KINDS[kind]]


SPEND = {"platform": "google", "currency": "EUR"}


@pytest.mark.parametrize("kind", ["events", "contacts", "touchpoints", "spend", "ads"])
def test_a_file_is_read_as_at_a_terminal(desk: Desk, importer: Importer, kind: str) -> None:
    """Whatever its encoding, separator, numbers and dates, and with a row of totals below it."""
    said = SPEND if kind == "spend" else {}
    options = [text for name, value in said.items() for text in (f"--{name}", value)]
    begun: list[int] = []
    for number in range(INSTANCES):
        dice = Random(f"{kind} {number}")
        content = by_chance(some_rows(kind, number, dice), dice)
        file = importer.folder / f"{number}.csv"
        file.write_bytes(content)
        assert importer.run(kind, file, *options)["refused"] == 0, content
        begun.append(desk.begin(kind, content, **said)["import_id"])
    desk.work()
    for import_id in begun:
        done = desk.get(kind, import_id)
        assert (done["status"], done["stored"], done["refused"]) == ("finished", 4, 0), done
    with client_for_stage(desk, importer.stage) as client:
        there = Desk(client, importer.stage, desk.folder, desk.url, desk.before)
        assert desk.rows(kind) == there.rows(kind)
        assert len(desk.rows(kind)) >= min(4 * INSTANCES, 60)


def client_for_stage(desk: Desk, stage: Stage) -> httpx.Client:
    headers = {"Authorization": f"Bearer {stage.key}"}
    return httpx.Client(base_url=desk.client.base_url, headers=headers)
