"""Rows for tests of audit log entries. Every planted secret and every piece of personal data contains CANARY,
which must not occur in any entry.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg

from tests.support.factories import NOON, Stage
from tests.support.pipeline import Stage as Queue
from tests.support.pipeline import event

CANARY = "canary"
EMAIL = f"{CANARY}@people.example"
READING = {"columns": {"email": "email", "time": "event_time"}, "constants": {"event_name": "purchase"}}


@dataclass
class Desk:
    """A Space, and methods that insert the rows that changes need."""

    stage: Stage
    user_id: int
    """The owner of the keys, tokens and views."""

    def insert(self, table: str, **columns: Any) -> str:
        return str(self.stage._insert(table, columns))

    def key(self) -> str:
        return self.insert(
            "api_keys", name="Shop", key_hash=secrets.token_bytes(32), hint="abcd", scopes=["events:write"],
            made_by=self.user_id,
        )  # fmt: skip

    def member(self) -> str:
        email = f"{secrets.token_hex(6)}-{EMAIL}"
        row = self.stage.connection.execute(
            "INSERT INTO users (email, name) VALUES (%s, %s) RETURNING id", (email, CANARY)
        ).fetchone()
        assert row is not None
        self.stage._insert("memberships", {"user_id": row[0], "role": "viewer"}, column="user_id")
        return str(row[0])

    def invitation(self) -> str:
        tomorrow = datetime.now(UTC) + timedelta(days=1)
        return self.insert(
            "invitations", email=EMAIL, role="viewer", token_hash=secrets.token_bytes(32), expires_at=tomorrow
        )

    def token(self) -> str:
        return self.insert(
            "mcp_tokens", user_id=self.user_id, kind="personal", name="Laptop",
            token_hash=secrets.token_bytes(32), hint="abcd",
        )  # fmt: skip

    def contact(self) -> int:
        contact_id = self.stage.contact(email=EMAIL, name=f"{CANARY} Ash")
        self.stage.identifier(contact_id, "email", EMAIL)
        return contact_id

    def merge_contacts(self) -> tuple[int, int]:
        """Create a contact and merge another one into it. Return both ids. The merge can be undone."""
        queue = Queue(self.stage.connection, self.stage.space_id)
        queue.run(event(event_name="sign_up", email=EMAIL, trk_token="laptop-1"))
        first = queue.run(event(event_name="view_content", trk_token="phone-1", trk_source="fb"))
        (anonymous,) = (queue.find_contact(number) for number in first)
        last = queue.run(event(email=EMAIL, trk_token="phone-1", amount="9"))
        return queue.find_contact(last[0]), anonymous

    def alert(self) -> str:
        return self.insert(
            "alerts", rule="visits_fell", subject="", title=CANARY, cause=CANARY, began="2026-05-13 08:00",
            opened_at=NOON,
        )  # fmt: skip

    def rule(self) -> str:
        return self.insert(
            "custom_alert_rules", measure="roas", condition="below", threshold=1, currency="USD", days=7,
            filter="", filter_name="",
        )  # fmt: skip

    def channel(self) -> str:
        return self.insert(
            "channels", kind="email", name=CANARY, address=EMAIL, hint=EMAIL, rules=[], confirmed_at=NOON
        )

    def due_report(self) -> int:
        return self.stage._insert(
            "scheduled_reports",
            {
                "name": "Daily", "page": "", "query": f"only={CANARY}", "cadence": "daily", "weekdays": [],
                "send_at": "08:00", "with_csv": False, "channel_ids": [], "next_at": "2099-01-01",
            },
        )  # fmt: skip

    def share_link(self) -> str:
        tomorrow = datetime.now(UTC) + timedelta(days=1)
        return self.insert(
            "share_links", name="Partner", page="", query=f"only={CANARY}",
            token_hash=secrets.token_bytes(32), expires_at=tomorrow,
        )  # fmt: skip

    def view(self) -> str:
        return self.insert("saved_views", user_id=self.user_id, name="Mine", page="", query=f"only={CANARY}")

    def rejected(self) -> None:
        self.insert(
            "rejected", id=self.stage._next_value("receipt_ids"), kind="event", received_at=NOON,
            payload=json.dumps({"event_name": "purchase", "email": EMAIL}), reason="failed", detail=CANARY,
            sender="api_key",
        )  # fmt: skip

    def spend(self) -> None:
        self.stage._insert(
            "spend",
            {
                "date": "2026-05-13", "key": secrets.token_bytes(16), "platform": "meta", "account_id": "",
                "campaign_id": "", "adset_id": "", "ad_id": "", "country": "", "currency": "USD",
                "amount": 5, "as_of": NOON, "place": 0,
            },
            column="number",
        )  # fmt: skip

    def orders(self, count: int = 2) -> None:
        """Store yesterday's orders, each with a visit: enough for training in these tests."""
        moment = datetime.now(UTC) - timedelta(days=1)
        for _ in range(count):
            contact_id = self.contact()
            self.stage.touchpoint(contact_id, "email", occurred_at=moment - timedelta(hours=2))
            self.stage.event(contact_id, event_time=moment)

    def job(self, status: str) -> dict[str, int]:
        columns = {"kind": "events", "name": f"{CANARY}.csv", "status": status, "user_id": self.user_id}
        return {"import_id": self.stage._insert("import_jobs", {**columns, "reading": json.dumps(READING)})}

    def webhook(self, **columns: Any) -> dict[str, int]:
        """Create a webhook with a refused delivery and return both ids."""
        defaults = {"type": "generic", "name": "Shop", "token_hash": secrets.token_bytes(32), "hint": "abcd"}
        webhook_id = self.stage._insert("webhooks", {**defaults, **columns})
        body = json.dumps({"email": EMAIL})
        values = {"webhook_id": webhook_id, "body": body, "status": "refused", "detail": CANARY}
        return {"webhook_id": webhook_id, "delivery_id": self.stage.delivery(**values)}


def list_entries(connection: psycopg.Connection, last_id: int = 0) -> list[dict[str, Any]]:
    """Return all entries after an id, of every Space and of the installation."""
    rows = connection.execute(
        "SELECT to_jsonb(e) FROM audit_entries e WHERE e.id > %s ORDER BY e.id", (last_id,)
    )
    return [entry for (entry,) in rows.fetchall()]


def last_entry(connection: psycopg.Connection) -> int:
    """Return the id of the newest entry, or 0 without entries."""
    row = connection.execute("SELECT coalesce(max(id), 0) FROM audit_entries").fetchone()
    assert row is not None
    return row[0]
