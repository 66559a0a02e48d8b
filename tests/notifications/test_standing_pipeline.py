"""A stopped pipeline raises an alert: the watcher doesn't wait for the worker."""

from __future__ import annotations

from pathlib import Path

import psycopg

from headwater.alerts.notifications.channels import NewChannel, create_channel
from headwater.alerts.rules import Rule
from headwater.database.embedded import Embedded
from headwater.spaces.encryption import derive_key
from tests.support.accounts import Accounts
from tests.support.installations import install
from tests.support.preloaded import CopiedServe
from tests.support.pretend_slack import PretendSlack, serve_slack
from tests.support.spaces import insert_space
from tests.support.waiting import wait_until

SECRET = "x" * 32


def add_channel(url: str, space_id: int, address: str) -> None:
    accounts = Accounts(url)
    user = accounts.member(space_id)
    new = NewChannel("webhook", "webhook", address, [Rule.PROCESSING_LATE], user.id)
    accounts.run(lambda connection: create_channel(connection, space_id, new, derive_key(SECRET)))


def headlines(connection: psycopg.Connection, space_id: int, slack: PretendSlack) -> list[str]:
    """Make the Space due for evaluation, and return the first lines of all notifications so far."""
    connection.execute("UPDATE alert_watches SET next_at = now() WHERE space_id = %s", (space_id,))
    return [message["text"].partition("\n")[0] for message in slack.messages]


def test_it_works(tmp_path: Path) -> None:
    data_dir = install(tmp_path / "data")
    variables = {"HEADWATER_NOTIFY_HOSTS": "127.0.0.1", "HEADWATER_SECRET_KEY": SECRET}
    with serve_slack() as slack, CopiedServe(data_dir, **variables) as serve:
        serve.url()
        url = Embedded(data_dir).url
        with psycopg.connect(url, autocommit=True) as connection:
            space_id = insert_space(connection, name="Shop", created_at="2026-01-01")
            add_channel(url, space_id, slack.url)
            with psycopg.connect(url) as standing:
                # The row is rejected; the worker can't store the rejection and waits.
                standing.execute("LOCK TABLE rejected IN SHARE ROW EXCLUSIVE MODE")
                connection.execute(
                    "INSERT INTO inbox (space_id, kind, sender, received_at, payload)"
                    " VALUES (%s, 'none', 'api_key', now() - interval '6 minutes', '{}')",
                    (space_id,),
                )  # fmt: skip
                wait_until(lambda: headlines(connection, space_id, slack))
            wait_until(lambda: len(headlines(connection, space_id, slack)) > 1)
            first, last = headlines(connection, space_id, slack)
            assert first == "*1 event is waiting to be processed*"
            assert last == "*Resolved: 1 event is waiting to be processed*"
        assert serve.stop() == 0
