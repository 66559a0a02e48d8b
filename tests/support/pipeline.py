"""Helpers for tests of the pipeline: rows put on the inbox, and comparable dumps of a Space's facts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import msgspec
import psycopg

from headwater.events.accepted import AcceptedEvent
from headwater.events.browsing.accepted import AcceptedBots, AcceptedHit, AcceptedPerson
from headwater.events.refunds.reports import AcceptedRefund
from headwater.events.touchpoints.accepted import AcceptedTouchpoint
from headwater.intake.inbox.queue import spaces_with_rows
from headwater.intake.pipeline.batch import BatchResult
from headwater.intake.pipeline.batch_runner import BATCH_ROWS, process_space, run_batch
from tests.support.spaces import insert_space

T0 = 1_760_000_000_000
"""A moment in October 2025, in ms since 1970."""
MINUTE = 60_000
DAY = 86_400_000

RECEIVED = "2026-01-01 00:00:00+00"


SINCE = ("(SELECT count(*) FROM merges m WHERE m.space_id = contact_identifiers.space_id"
         " AND m.id <= since)")  # fmt: skip
"""The number of merges before a value. The merge's own number depends on how events fall into batches."""

TABLES = {
    "contacts": ("id", "created_at", "merged_into", "company_id", "source_mask", "email", "name",
                 "phone", "location", "city", "country", "os", "profile_field_1",
                 "profile_field_16", "profile_field_26"),
    "contact_identifiers": ("kind", "value", "contact_id", "origin_id", "first_seen_at",
                            "last_seen_at", "recency", SINCE),
    "merges": ("merged_id", "survivor_id", "cause", "receipt_id", "sender", "company_id",
               "filled"),
    "companies": ("id", "domain", "external_id", "name"),
    "events": ("id", "contact_id", "origin_id", "company_id", "event_name", "event_time", "amount",
               "order_id", "idempotency_key", "source_mask", "warnings", "sender"),
    "touchpoints": ("id", "contact_id", "origin_id", "company_id", "occurred_at", "source_id",
                    "source_rule", "campaign_id", "campaign_name", "adset_id", "ad_id", "keyword",
                    "landing_page", "sent", "by_hit", "warnings", "sender"),
    "visits": ("id", "contact_id", "origin_id", "company_id", "started_at", "last_hit_at"),
    "hits": ("id", "contact_id", "origin_id", "visit_id", "occurred_at", "source_id", "campaign",
             "touch::text"),
    "duplicates": ("id", "reason", "event_id", "sender"),
    "rejected": ("id", "kind", "reason", "detail"),
    "inbox": ("id",),
}  # fmt: skip

WITH_TAGS = {
    "touchpoints": "(SELECT t.*, g.account_id, g.account_name, g.campaign_id, g.campaign_name,"
                   " g.adset_id, g.adset_name, g.ad_id, g.ad_name, g.keyword, g.landing_page"
                   " FROM touchpoints t"
                   " LEFT JOIN tag_sets g ON g.space_id = t.space_id AND g.id = t.tag_set_id) t",
}  # fmt: skip
"""Tables joined with the rows that they refer to."""

RECEIPT_COLUMNS = {
    ("events", "id"), ("touchpoints", "id"), ("duplicates", "id"), ("duplicates", "event_id"),
    ("rejected", "id"), ("inbox", "id"), ("merges", "receipt_id"),
    ("contact_identifiers", "recency"), ("visits", "id"), ("hits", "id"), ("hits", "visit_id"),
}  # fmt: skip
CONTACT_COLUMNS = {
    ("contacts", "id"), ("contacts", "merged_into"), ("contact_identifiers", "contact_id"),
    ("contact_identifiers", "origin_id"), ("merges", "merged_id"), ("merges", "survivor_id"),
    ("events", "contact_id"), ("events", "origin_id"), ("touchpoints", "contact_id"),
    ("touchpoints", "origin_id"), ("visits", "contact_id"), ("visits", "origin_id"),
    ("hits", "contact_id"), ("hits", "origin_id"),
}  # fmt: skip
COMPANY_COLUMNS = {
    ("companies", "id"), ("contacts", "company_id"), ("events", "company_id"),
    ("touchpoints", "company_id"), ("merges", "company_id"), ("visits", "company_id"),
}  # fmt: skip


def event(**values: Any) -> AcceptedEvent:
    """Return an accepted event, with a default name and time."""
    return AcceptedEvent(**{"event_name": "purchase", "event_time": T0, **values})


def touch(**values: Any) -> AcceptedTouchpoint:
    """Return an accepted touchpoint, with a default time and source."""
    return AcceptedTouchpoint(**{"occurred_at": T0, "source": "google_ads", **values})


def hit(**values: Any) -> AcceptedHit:
    """Return an accepted page view, with a default key, time and page."""
    return AcceptedHit(**{"key": str(uuid4()), "occurred_at": T0, "url": "https://shop.example/", **values})


def person(**values: Any) -> AcceptedPerson:
    """Return an accepted identification of a person, with a default time."""
    return AcceptedPerson(**{"occurred_at": T0, **values})


Item = (
    AcceptedEvent | AcceptedTouchpoint | AcceptedHit | AcceptedPerson | AcceptedBots
    | AcceptedRefund
)  # fmt: skip


@dataclass(frozen=True)
class Sent:
    """An item and its sender."""

    item: Item
    sender: str | None


Accepted = Item | Sent


def add_sender(sender: str, item: Item) -> Sent:
    """Return an item with its sender. Without one, items of pages' kinds count as sent by a page, others by
    an API key.
    """
    return Sent(item, sender)


def page(item: Item) -> Sent:
    """Return an item sent by a page."""
    return Sent(item, "browser")


KINDS = {
    AcceptedEvent: "event", AcceptedTouchpoint: "touchpoint", AcceptedHit: "hit",
    AcceptedPerson: "identify", AcceptedBots: "bots",
    AcceptedRefund: "refund",
}  # fmt: skip


def usual_sender(kind: str) -> str:
    """Return a kind's sender for tests that don't name one."""
    return "browser" if kind in ("hit", "identify", "bots") else "api_key"


@dataclass
class Stage:
    """One Space, its inbox and its stored facts."""

    connection: psycopg.Connection
    space_id: int
    receipts: list[int] = field(default_factory=list)

    def put(self, *items: Accepted) -> list[int]:
        """Put rows of any kind on the inbox and return their receipt ids."""
        rows = [item if isinstance(item, Sent) else Sent(item, None) for item in items]
        return [
            self.put_row(KINDS[type(row.item)], msgspec.json.encode(row.item).decode(), sender=row.sender)
            for row in rows
        ]

    def put_row(self, kind: str, payload: str, received_at: str = RECEIVED, sender: str | None = None) -> int:
        row = self.connection.execute(
            "INSERT INTO inbox (space_id, kind, sender, received_at, payload)"
            " VALUES (%s, %s, %s, %s, %s) RETURNING id",
            (self.space_id, kind, sender or usual_sender(kind), received_at, payload),
        ).fetchone()
        assert row is not None
        self.receipts.append(row[0])
        return row[0]

    def process(self, limit: int = 2000) -> BatchResult:
        """Process all waiting rows of this Space."""
        total = BatchResult()
        while (result := process_space(self.connection, self.space_id, limit)).rows:
            total = total + result
        return total

    def run(self, *items: Accepted) -> list[int]:
        """Put rows on the inbox and process them as one batch. None may fail."""
        receipts = self.put(*items)
        run_batch(self.connection, self.space_id)
        return receipts

    def rows(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """Return this Space's rows of a table, sorted by the columns. Touchpoints include the columns of
        their tag sets.
        """
        names, relation = ", ".join(columns), WITH_TAGS.get(table, table)
        query = f"SELECT {names} FROM {relation} WHERE space_id = %s ORDER BY {names}"
        return self.connection.execute(query, (self.space_id,)).fetchall()

    def values(self, table: str, column: str) -> list[Any]:
        return [row[0] for row in self.rows(table, column)]

    def find_contact(self, receipt: int) -> int:
        """Return the contact that an event is stored on."""
        return dict(self.rows("events", "id", "contact_id"))[receipt]

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return all facts, with ids replaced by their order, so that two Spaces can be compared."""
        numbers = {
            "receipt": {receipt: index for index, receipt in enumerate(self.receipts)},
            "contact": _order(self.values("contacts", "id")),
            "company": _order(self.values("companies", "id")),
        }
        return {table: self._dump_table(table, numbers) for table in TABLES}

    def _dump_table(self, table: str, numbers: dict[str, dict[int, int]]) -> list[tuple[Any, ...]]:
        columns = TABLES[table]
        renamings = [_renaming(table, column, numbers) for column in columns]
        rows = [
            tuple(
                names[value] if names is not None and value is not None else value
                for names, value in zip(renamings, row, strict=True)
            )
            for row in self.rows(table, *columns)
        ]
        return sorted(rows, key=repr)


def _renaming(table: str, column: str, numbers: dict[str, dict[int, int]]) -> dict[int, int] | None:
    if (table, column) in RECEIPT_COLUMNS:
        return numbers["receipt"]
    if (table, column) in CONTACT_COLUMNS:
        return numbers["contact"]
    if (table, column) in COMPANY_COLUMNS:
        return numbers["company"]
    return None


def _order(ids: list[int]) -> dict[int, int]:
    return {number: index for index, number in enumerate(sorted(ids))}


def new_stage(connection: psycopg.Connection, **settings: Any) -> Stage:
    """Create an empty Space with these settings."""
    return Stage(connection, insert_space(connection, **settings))


def drain(connection: psycopg.Connection[Any], limit: int = BATCH_ROWS) -> BatchResult:
    """Process all waiting rows except in locked Spaces."""
    total = BatchResult()
    while True:
        space_ids = spaces_with_rows(connection, "inbox")
        results = [process_space(connection, space_id, limit) for space_id in space_ids]
        total = sum(results, total)
        if all(result.skipped for result in results):
            return total
