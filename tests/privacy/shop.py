"""A Space with people's data in every table, for tests of erasure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg

from headwater.database.jobs.connection import connect
from headwater.privacy.erasure_job import erase_next
from tests.support.canaries import Person, Places, places
from tests.support.clusters import CLUSTER_URL
from tests.support.factories import Stage
from tests.support.pipeline import drain
from tests.support.reading_fixtures import Api


class Shop:
    """A Space with an API and a queue that is processed when a test says so."""

    def __init__(self, api: Api, stage: Stage, url: str) -> None:
        self.api, self.stage, self.url = api, stage, url

    def send(self, bodies: list[dict[str, Any]]) -> None:
        response = self.api.send("POST", "/events/batch", json={"events": bodies})
        assert response.status_code == 202
        assert {result["status"] for result in response.json()["results"]} == {"queued"}

    def process(self) -> None:
        with connect(self.url) as worker:
            drain(worker)

    def ask_to_erase(self, contact_id: int) -> None:
        assert self.api.send("DELETE", f"/contacts/{contact_id}/pii").status_code == 202

    def erase(self, limit: int = 2000) -> bool:
        with connect(self.url) as worker:
            return erase_next(worker, self.stage.space_id, limit)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.stage.connection.execute(query, {"space_id": self.stage.space_id}).fetchall()


def live(shop: Shop, *people: Person) -> Places:
    """Let people leave data everywhere, and return where each of their values was seen."""
    columns_by_value: dict[str, set[tuple[str, str]]] = {}

    def find_values() -> None:
        values = [value for person in people for value in person.personal + person.kept_values]
        for value, columns in places(shop.stage, values).items():
            columns_by_value.setdefault(value, set()).update(columns)

    for person in people:
        for happens in (person.browsing_bodies, person.turns_out_to_be_one):
            shop.send(happens())
            find_values()
            shop.process()
        person.find()
        person.is_rejected()
        shop.process()
        person.is_known_by_other_means()
    for person in people:
        shop.send(person.queue_rows())
    find_values()
    return columns_by_value


def server_log(connection: psycopg.Connection) -> str:
    """Return the log of the embedded server. Nodes of a cluster keep their logs elsewhere."""
    if CLUSTER_URL is not None:
        return ""
    row = connection.execute("SHOW data_directory").fetchone()
    assert row is not None
    return (Path(row[0]).parent / "postgresql.log").read_text()
