"""The verdict on a run: the answers to the clients compared with the service's data."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import psycopg

from headwater.attribution.paths.upkeep import check_space
from tests.crash.load import Ledger, Outcome
from tests.crash.service import Service


@dataclass
class Verdict:
    """Every possible violation of a promise, by idempotency key."""

    lost: list[str] = field(default_factory=list)
    """Acknowledged and not stored."""
    doubled: list[str] = field(default_factory=list)
    """Stored more than once."""
    altered: list[str] = field(default_factory=list)
    """Stored with other values than sent, or in another Space."""
    uninvited: list[str] = field(default_factory=list)
    """Stored although refused or never sent."""
    astray: list[str] = field(default_factory=list)
    """Acknowledged with a receipt that doesn't lead to the event."""
    set_aside: list[str] = field(default_factory=list)
    """Rows in `rejected`, which must be empty."""
    misreported: list[str] = field(default_factory=list)
    """Days of a Space whose segments differ from the tables without a pending record, or are damaged."""
    surprises: list[str] = field(default_factory=list)
    """Answers that no fault excuses."""

    @property
    def violations(self) -> dict[str, list[str]]:
        """The violations. Empty when there are no violations."""
        return {name: keys for name, keys in vars(self).items() if keys}


Stored = dict[str, list[tuple[int, int, str, datetime, Decimal | None]]]
"""The rows with each idempotency key: Space, id, name, time, amount."""


def judge(service: Service, ledger: Ledger, prefix: str) -> Verdict:
    """Compare the ledger of a drained run, whose keys start with `prefix`, with the database."""
    verdict = Verdict(surprises=[*ledger.surprises])
    stored_events = holdings(service, prefix)
    with psycopg.connect(service.database_url, autocommit=True) as connection:
        receipts = _receipts(connection, min(ledger.receipts.values(), default=0))
        verdict.set_aside = [str(row) for row in connection.execute(
            "SELECT space_id, id, reason, detail FROM rejected ORDER BY id"
        )]  # fmt: skip
        verdict.misreported = [
            f"{space_id}: {day}"
            for (space_id,) in connection.execute("SELECT id FROM spaces ORDER BY id").fetchall()
            for day in check_space(connection, space_id)
            if day.wrong or day.damaged
        ]
    for key, outcome in ledger.outcomes.items():
        rows = stored_events.pop(key, [])
        if outcome is Outcome.OK and not rows:
            verdict.lost.append(key)
        if len(rows) > 1:
            verdict.doubled.append(key)
        if outcome is Outcome.REJECTED and rows:
            verdict.uninvited.append(key)
        if any(row != _expected_row(ledger, key, row[1]) for row in rows):
            verdict.altered.append(key)
        if key in ledger.receipts and rows and receipts.get(ledger.receipts[key]) != rows[0][1]:
            verdict.astray.append(key)
    verdict.uninvited += stored_events
    return verdict


def holdings(service: Service, prefix: str) -> Stored:
    """Return the stored events whose keys start with `prefix`."""
    stored_events: Stored = defaultdict(list)
    with psycopg.connect(service.database_url) as connection:
        for key, *row in connection.execute(
            "SELECT idempotency_key, space_id, id, event_name, event_time, amount FROM events"
            " WHERE starts_with(idempotency_key, %s) ORDER BY id",
            [prefix],
        ):
            stored_events[key].append((*row,))
    return stored_events


def _receipts(connection: psycopg.Connection[Any], first_id: int) -> dict[int, int]:
    """Return every receipt from `first_id` on, with the event that it leads to."""
    rows = connection.execute(
        "SELECT id, id FROM events WHERE id >= %(first)s"
        " UNION ALL SELECT id, event_id FROM duplicates WHERE id >= %(first)s",
        {"first": first_id},
    )
    return dict(rows.fetchall())


def _expected_row(ledger: Ledger, key: str, event_id: int) -> tuple[Any, ...]:
    account, item = ledger.items[key]
    amount = item.payload.get("amount")
    return (
        account.space_id,
        event_id,
        item.payload["event_name"],
        datetime.fromtimestamp(item.payload["event_time"], UTC),
        None if amount is None else Decimal(str(amount)),
    )
