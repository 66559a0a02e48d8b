"""The sender of an item is kept from the endpoint to the stored rows, and shown."""

from __future__ import annotations

import psycopg
import pytest

from headwater.people.identity.senders import Sender
from tests.conftest import Running
from tests.mcp.assistants import connect
from tests.support.factories import Stage
from tests.support.importing import Importer
from tests.support.pipeline import Stage as Queue
from tests.support.reading_fixtures import Api
from tests.support.sites import GOOGLEBOT, Site, event, identify, page
from tests.support.webhooks import Hooks

PURCHASE = {"event_name": "purchase", "email": "ada@gmail.com", "trk_source": "google_ads"}
VISIT = {"email": "ada@gmail.com", "occurred_at": "2026-05-01T00:00:00Z", "source": "email"}


def waiting(stage: Stage) -> list[tuple[str, str]]:
    cursor = stage.connection.execute(
        "SELECT kind, sender FROM inbox WHERE space_id = %s ORDER BY id", (stage.space_id,)
    )
    return cursor.fetchall()


def test_it_works(api: Api, stage: Stage, site: Site) -> None:
    receipt = api.send("POST", "/events/track", json=PURCHASE).headers["x-receipt-id"]
    assert api.get(f"/receipts/{receipt}").json()["sender"] == "api_key"
    api.send("POST", "/events/batch", json={"events": [PURCHASE]})
    api.send("POST", "/touchpoints/batch", json={"touchpoints": [VISIT]})
    results = site.report(page(), identify(email="a@b.org"), event()).json()["results"]
    site.report(page(), headers={"user-agent": GOOGLEBOT})
    assert waiting(stage) == [
        ("event", "api_key"), ("event", "api_key"), ("touchpoint", "api_key"),
        ("hit", "browser"), ("identify", "browser"), ("event", "browser"), ("bots", "browser"),
    ]  # fmt: skip
    queue = Queue(stage.connection, stage.space_id)
    queue.process()
    assert queue.values("events", "sender") == ["api_key", "api_key", "browser"]
    assert set(queue.rows("touchpoints", "by_hit", "sent", "sender")) == {
        (False, False, "api_key"), (False, True, "api_key"), (True, False, "browser"),
    }  # fmt: skip
    assert api.get(f"/receipts/{receipt}").json()["sender"] == "api_key"
    for result in (results[0], results[2]):
        assert api.get(f"/receipts/{result['receipt_id']}").json()["sender"] == "browser"


def test_webhooks(webhooks: Hooks, stage: Stage) -> None:
    assert webhooks.generic().deliver({"email": "a@b.org", "amount": 5}).status_code == 200
    assert waiting(stage) == [("event", "webhook")]


def test_imports(importer: Importer, stage: Stage) -> None:
    importer.run("events", importer.write("events.csv", PURCHASE))
    importer.run("touchpoints", importer.write("visits.csv", VISIT))
    assert waiting(stage) == [("event", "import"), ("touchpoint", "import")]


def test_assistants(server: Running, connection: psycopg.Connection, stage: Stage) -> None:
    with connect(server, connection, stage.space_id) as assistant:
        receipt = assistant.call("track_event", **PURCHASE)
        assert waiting(stage) == [("event", "assistant")]
        Queue(connection, stage.space_id).process()
        explanation = assistant.call("explain_attribution", event_id=int(receipt["receipt_id"]))
    assert explanation["event"]["sender"] == "assistant"
    assert [touch["sender"] for touch in explanation["path"]] == ["assistant"]


def test_what_is_rejected_and_replayed_keeps_it(stage: Stage, api: Api) -> None:
    queue = Queue(stage.connection, stage.space_id)
    receipt = queue.put_row("event", "{", sender="browser")
    queue.process()
    assert queue.rows("rejected", "id", "sender") == [(receipt, "browser")]
    assert api.get(f"/receipts/{receipt}").json()["sender"] == "browser"


@pytest.mark.parametrize("sender", list(Sender))
def test_pages_alone_are_not_believed(sender: Sender) -> None:
    assert sender.is_trusted is (sender != "browser")
