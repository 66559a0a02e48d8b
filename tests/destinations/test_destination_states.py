"""Destinations paused, resumed and removed, and the effect on their deliveries."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psycopg

from tests.destinations.test_destinations import create
from tests.support.destinations import Forwarder
from tests.support.lock_waits import is_waited_for
from tests.support.pipeline import event
from tests.support.reading_fixtures import Api
from tests.support.waiting import wait_until


def test_a_destination_is_paused_and_resumed(api: Api, forwarder: Forwarder) -> None:
    destination_id = create(api)["id"]
    waiting_id = forwarder.delivery(destination_id)
    path = f"/destinations/{destination_id}"
    assert api.send("POST", f"{path}/pause").json()["status"] == "paused"
    forwarder.queue().run(event(email="ada@example.com"))
    assert forwarder.deliveries("id", "status")[0] == (waiting_id, "queued")
    assert forwarder.deliveries("reason") == [None, "paused"]
    forwarder.execute(
        "UPDATE destinations SET status = 'held', status_reason = 'No.', failures = 3,"
        " wait_until = 'infinity' WHERE space_id = %(space_id)s"
    )
    destination = api.get(path).json()
    assert (destination["status"], destination["status_reason"]) == ("held", "No.")
    resumed_destination = api.send("POST", f"{path}/resume").json()
    assert (
        resumed_destination["status"], resumed_destination["status_reason"],
        resumed_destination["wait_until"],
    ) == (
        "active", None, None,
    )  # fmt: skip
    forwarder.queue().run(event(email="ada@example.com", idempotency_key="2"))
    assert forwarder.deliveries("reason") == [None, "paused", None]
    assert api.get(path).json()["deliveries"]["queued"] == 2


def test_a_destination_is_removed(api: Api, forwarder: Forwarder) -> None:
    destination_id = create(api)["id"]
    delivered_id = forwarder.delivery(destination_id, status="delivered")
    waiting_id = forwarder.delivery(destination_id)
    path = f"/destinations/{destination_id}"
    assert api.send("DELETE", path).json() == {"message": "Destination removed."}
    assert forwarder.deliveries("id", "status", "reason") == [
        (delivered_id, "delivered", None), (waiting_id, "skipped", "removed"),
    ]  # fmt: skip
    for method, suffix in (
        ("GET", ""), ("PUT", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume"),
        ("POST", "/test"), ("GET", "/deliveries"), ("POST", "/replay"),
    ):  # fmt: skip
        response = api.send(method, path + suffix, json={"name": "x"} if method == "PUT" else {})
        assert (response.status_code, response.json()["message"]) == (404, "Destination not found.")
    assert api.get("/destinations").json() == {"data": []}
    assert api.get(f"/deliveries/{waiting_id}").json()["reason"] == "removed"
    row = forwarder.stage.connection.execute(
        "SELECT secrets, secret_names FROM destinations WHERE space_id = %s", (forwarder.stage.space_id,)
    ).fetchone()
    assert row == (None, [])
    forwarder.queue().run(event(email="ada@example.com"))
    assert len(forwarder.deliveries("id")) == 2


def test_nothing_is_queued_behind_a_removal(api: Api, forwarder: Forwarder, database_url: str) -> None:
    """A batch that is being stored goes first, and the removal includes what it queued."""
    destination_id, space = forwarder.make(), {"space_id": forwarder.stage.space_id}
    with ThreadPoolExecutor() as pool, psycopg.connect(database_url) as worker:
        worker.execute("SELECT FROM space_locks WHERE space_id = %(space_id)s FOR NO KEY UPDATE", space)
        removal = pool.submit(api.send, "DELETE", f"/destinations/{destination_id}")
        wait_until(lambda: is_waited_for(forwarder.stage.connection, worker))
        replace(forwarder, stage=replace(forwarder.stage, connection=worker)).delivery(destination_id)
        worker.commit()
        assert removal.result().status_code == 200
    assert forwarder.deliveries("status", "reason") == [("skipped", "removed")]
