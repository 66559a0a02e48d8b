"""Rows inserted with SQL, for tests of code that reads them: a Space, a key, contacts, events, touchpoints.

Columns that a test doesn't set have plain defaults. Ids come from the product's sequences, so tests can share
the database.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any
from uuid import uuid4

import psycopg

from headwater.api.operations import RATE_LIMITS
from headwater.events.touchpoints.tag_sets import hash_tag_set, read_landing_page
from headwater.sources.catalogue import SOURCE_IDS, source_mask
from headwater.sources.networks import FIRST_NUMBER
from headwater.sources.outcomes import Ad
from headwater.spaces.keys import SCOPES
from tests.support.spaces import insert_space

NOON = datetime(2026, 5, 13, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Stage:
    """A Space, and methods that insert its rows."""

    connection: psycopg.Connection
    space_id: int
    key: str

    def contact(self, **columns: Any) -> int:
        return self._insert("contacts", {"created_at": NOON, **columns})

    def identifier(self, contact_id: int, kind: str, value: str, **columns: Any) -> int:
        """Insert an identifier of a contact, more recent than all earlier ones. Return its recency."""
        receipt = self._next_value("receipt_ids")
        defaults = {"kind": kind, "value": value, "contact_id": contact_id,
                    "origin_id": contact_id, "first_seen_at": NOON, "last_seen_at": NOON,
                    "since": receipt, "recency": receipt}  # fmt: skip
        return self._insert("contact_identifiers", {**defaults, **columns}, column="recency")

    def visit(self, contact_id: int, **columns: Any) -> int:
        defaults = {"id": self._next_value("receipt_ids"), "device": str(uuid4()), "started_at": NOON,
                    "last_hit_at": NOON}  # fmt: skip
        return self._insert("visits", {**defaults, "contact_id": contact_id, **columns})

    def hit(self, contact_id: int, visit_id: int, **columns: Any) -> int:
        defaults = {"id": self._next_value("receipt_ids"), "key": str(uuid4()), "occurred_at": NOON,
                    "event_name": "page_view"}  # fmt: skip
        values = {**defaults, "contact_id": contact_id, "visit_id": visit_id, **columns}
        return self._insert("hits", values)

    def click(self, click: str, device: str) -> None:
        columns = {"click": click, "device": device, "first_seen_at": NOON}
        self._insert("clicks", columns, column="space_id")

    def company(self, **columns: Any) -> int:
        return self._insert("companies", {"name": "Acme", "created_at": NOON, **columns})

    def event(self, contact_id: int, **columns: Any) -> int:
        """Insert an event whose `source_mask` includes every touchpoint that its contact has so far."""
        sources = self.connection.execute(
            "SELECT DISTINCT source_id FROM touchpoints WHERE space_id = %s AND contact_id = %s",
            (self.space_id, contact_id),
        ).fetchall()
        defaults = {
            "id": self._next_value("receipt_ids"), "event_name": "purchase", "event_time": NOON,
            "received_at": NOON, "source_mask": source_mask([source for (source,) in sources]),
        }  # fmt: skip
        return self._insert("events", {**defaults, "contact_id": contact_id, **columns})

    def touchpoint(self, contact_id: int, source: str, **columns: Any) -> int:
        """Insert a touchpoint. The columns can include those of its tag set."""
        defaults = {"id": self._next_value("receipt_ids"), "occurred_at": NOON, "source_rule": "test"}
        ad = {name: columns.pop(name) for name in Ad.__struct_fields__ if name in columns}
        values = {"contact_id": contact_id, "source_id": self.source_id(source), **columns}
        tag_set_id = self.tag_set(read_landing_page(columns.get("url")), **ad)
        return self._insert("touchpoints", {"tag_set_id": tag_set_id, **defaults, **values})

    def network(self, name: str, *spellings: str, platform: str = "") -> int:
        """Insert a paid network of the Space. Return its number."""
        last = self.connection.execute(
            "SELECT max(number) FROM paid_networks WHERE space_id = %s", (self.space_id,)
        ).fetchone()
        number = 1 + ((last and last[0]) or FIRST_NUMBER - 1)
        columns = {
            "number": number, "name": name, "spellings": list(spellings),
            "platform": platform or name.removesuffix("_ads"),
        }  # fmt: skip
        return self._insert("paid_networks", columns, column="number")

    def source_id(self, source: str) -> int:
        """Return the number of a listed source or of one of the Space's networks."""
        if source in SOURCE_IDS:
            return SOURCE_IDS[source]
        row = self.connection.execute(
            "SELECT number FROM paid_networks WHERE space_id = %s AND name = %s", (self.space_id, source)
        ).fetchone()
        assert row is not None
        return row[0]

    def tag_set(self, page: str | None = None, **ad: str | None) -> int:
        """Return the number of a tag set, inserted if necessary."""
        if (Ad(**ad), page) == (Ad(), None):
            return 0
        digest = bytes.fromhex(hash_tag_set(Ad(**ad), page))
        numbers = dict(
            self.connection.execute(
                "SELECT digest, id FROM tag_sets WHERE space_id = %s", (self.space_id,)
            ).fetchall()
        )
        if digest in numbers:
            return numbers[digest]
        number = max(numbers.values(), default=0) + 1
        columns = {"id": number, "digest": digest, "landing_page": page, **ad}
        return self._insert("tag_sets", columns)

    def ad(self, kind: str, ad_id: str, name: str) -> int:
        """Insert an ad name into the catalogue. Return its number."""
        columns = {"kind": kind, "id": ad_id, "name": name}
        return self._insert("ad_names", columns, column="number")

    def export(self, kind: str, error: str, **columns: Any) -> int:
        """Insert a failed export with its error."""
        defaults = {"kind": kind, "error": error, "request": "{}", "status": "failed",
                    "range_start": NOON, "range_end": NOON}  # fmt: skip
        return self._insert("exports", {**defaults, **columns})

    def add_import(self, kind: str, **columns: Any) -> int:
        """Insert a finished import with one refused row."""
        defaults = {"kind": kind, "name": "x.csv", "status": "finished", "created_at": NOON,
                    "ended_at": NOON, "refused": 1}  # fmt: skip
        import_id = self._insert("import_jobs", {**defaults, **columns})
        values = {"import_id": import_id, "row": 1, "line": 2, "reason": "No.", "cells": "{}"}
        self._insert("refused_rows", values, column="row")
        return import_id

    def export_schedule(self, name: str, **columns: Any) -> int:
        """Insert an export schedule for events that is not due."""
        defaults = {
            "name": name, "kind": "events", "cadence": "daily", "request": "{}",
            "extension": ".ndjson", "rows_per_file": 1000, "rewritten_days": 2,
            "first_day": NOON, "next_day": NOON, "next_at": "2100-01-01 00:00Z",
        }  # fmt: skip
        return self._insert("export_schedules", {**defaults, **columns})

    def delivery(self, **columns: Any) -> int:
        """Insert an ignored delivery to a webhook."""
        defaults = {"webhook_id": 1, "received_at": NOON, "headers": "{}", "status": "ignored",
                    "detail": "Nothing is made of it."}  # fmt: skip
        return self._insert("webhook_deliveries", {**defaults, **columns})

    def destination(self, **columns: Any) -> int:
        """Insert a destination: a pixel without a token."""
        defaults = {"platform": "tiktok", "name": "Test", "settings": '{"pixel_code": "PIXEL1"}'}
        return self._insert("destinations", {**defaults, **columns})

    def spend_connection(self, **columns: Any) -> int:
        """Insert a spend connection without a token."""
        return self._insert("spend_connections", {"platform": "meta", "name": "Test", **columns})

    def watched_file(self, **columns: Any) -> int:
        """Insert a watched file that is not due."""
        defaults = {
            "kind": "spend", "name": "Test", "address": "https://reports.example/x.csv",
            "next_fetch_at": "2099-01-01T00:00:00Z",
        }  # fmt: skip
        return self._insert("watched_files", {**defaults, **columns})

    def add_delivery(self, destination_id: int, event_id: int, **columns: Any) -> int:
        """Insert a failed delivery of an event to a destination."""
        defaults = {"status": "failed", "dedup_id": f"key-{event_id}", "finished_at": NOON}
        values = {"destination_id": destination_id, "event_id": event_id, **columns}
        return self._insert("deliveries", {**defaults, **values})

    def attempt(self, delivery_id: int, **columns: Any) -> int:
        """Insert a refused attempt."""
        defaults = {"attempted_at": NOON, "outcome": "refused"}
        return self._insert("delivery_attempts", {"delivery_id": delivery_id, **defaults, **columns})

    def label_field(self, field: str, label: str = "Label") -> None:
        self._insert("field_labels", {"field": field, "label": label}, column="space_id")

    def label_event(self, event_name: str, label: str) -> None:
        columns = {"event_name": event_name, "label": label}
        self._insert("event_labels", columns, column="space_id")

    def _next_value(self, sequence: str) -> int:
        row = self.connection.execute("SELECT nextval(%s)", (sequence,)).fetchone()
        assert row is not None
        return row[0]

    def _insert(self, table: str, columns: dict[str, Any], column: str = "id") -> int:
        values = {"space_id": self.space_id, **columns}
        row = self.connection.execute(_insertion(table, tuple(values), column), values).fetchone()
        assert row is not None
        return row[0]


@cache
def _insertion(table: str, columns: tuple[str, ...], column: str) -> str:
    """Return the INSERT statement. Cached, because composing it takes longer than running it."""
    names, values = (", ".join(form.format(name) for name in columns) for form in ('"{}"', "%({})s"))
    return f'INSERT INTO {table} ({names}) VALUES ({values}) RETURNING "{column}"'


def make_stage(
    connection: psycopg.Connection, timezone: str = "UTC", scopes: tuple[str, ...] = SCOPES
) -> Stage:
    """Create a Space with practically no rate limits, and an API key."""
    space_id = insert_space(connection, timezone=timezone)
    stage = Stage(connection, space_id, "trk_sk_" + secrets.token_urlsafe(32))
    digest = hashlib.sha256(stage.key.encode()).digest()
    columns = {"name": "test", "key_hash": digest, "hint": stage.key[-4:], "scopes": list(scopes)}
    stage._insert("api_keys", columns)
    connection.execute(
        "INSERT INTO space_limits (space_id, bucket, per_minute)"
        " SELECT %s, bucket, 1000000 FROM unnest(%s::text[]) bucket",
        (space_id, list(RATE_LIMITS)),
    )
    return stage
