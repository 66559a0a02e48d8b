"""An installation from before senders were kept is upgraded with rows waiting and events stored."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.database import migrator as runner
from headwater.pipeline.batch_runner import process_space
from tests.support.pipeline import T0, Stage, event, new_stage, person

NEW = "0016_senders"


@pytest.fixture
def old(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A database of its own with the schema before."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE before_senders")
        url = make_conninfo(database_url, dbname="before_senders")
        known = runner.migrations()
        with monkeypatch.context() as patch:
            patch.setattr(runner, "migrations", lambda: [one for one in known if one[0] < NEW])
            runner.migrate(url)
        yield url
        connection.execute("DROP DATABASE before_senders WITH (FORCE)")


def wait(stage: Stage, kind: str, item: object) -> int:
    """A row as it was put on the inbox then."""
    row = stage.connection.execute(
        "INSERT INTO inbox (space_id, kind, received_at, payload)"
        " VALUES (%s, %s, now(), %s) RETURNING id",
        (stage.space_id, kind, msgspec.json.encode(item).decode()),
    ).fetchone()
    assert row is not None
    return row[0]


def test_it_works(old: str) -> None:
    with psycopg.connect(old, autocommit=True) as connection:
        stage = new_stage(connection)
        contact = connection.execute(
            "INSERT INTO contacts (space_id, created_at) VALUES (%s, now()) RETURNING id",
            (stage.space_id,),
        ).fetchone()
        assert contact is not None
        connection.execute(
            "INSERT INTO events (space_id, id, contact_id, event_name, event_time, order_id,"
            " received_at) VALUES (%s, nextval('receipt_ids'), %s, 'purchase', now(), '1', now())",
            (stage.space_id, contact[0]),
        )
        tracked, mailed = event(tracking_id="u1", event_time=T0), event(email="a@b.org")
        waiting = [
            wait(stage, "event", tracked), wait(stage, "event", mailed),
            wait(stage, "event", event(email="a@b.org", order_id="1")),
            wait(stage, "identify", person(email="a@b.org", tracking_id="u1")),
        ]  # fmt: skip
        assert NEW in runner.migrate(old)
        late = wait(stage, "event", event(email="a@b.org", order_id="2"))  # an old process, still
        while process_space(connection, stage.space_id).rows:
            pass
        assert stage.rows("merges", "id") == []
        assert stage.rows("duplicates", "id", "reason", "sender") == [
            (waiting[2], "order_id", "api_key")
        ]
        stored = dict(stage.rows("events", "id", "sender"))
        assert {stored[each] for each in (*waiting[:2], late)} == {"api_key"}
        assert list(stored.values()).count(None) == 1
