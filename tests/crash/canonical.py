"""A Space's contents without ids and without the order of strangers' arrival, to compare two runs of the same
journeys.
"""

from __future__ import annotations

import json
from contextlib import closing
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlencode

import psycopg
from psycopg.rows import dict_row

from tests.crash.load import API, Account
from tests.crash.service import Service
from tests.support.waiting import PATIENCE_SECONDS

MODELS = ("last_touch", "linear", "u_shaped")
SOURCES = ("google_ads", "facebook_ads", "google_organic", "facebook_organic", "email", "referral")

CONTACTS = """
SELECT c.email, c.name, c.phone, c.profile_field_1, co.domain AS company, c.source_mask,
       (SELECT count(*) FROM contacts m WHERE m.space_id = c.space_id AND m.merged_into = c.id)
           AS merged,
       (SELECT array_agg(i.kind || ' ' || i.value ORDER BY i.kind, i.value)
        FROM contact_identifiers i WHERE i.space_id = c.space_id AND i.contact_id = c.id)
           AS identifiers,
       (SELECT array_agg(e.idempotency_key ORDER BY e.idempotency_key)
        FROM events e WHERE e.space_id = c.space_id AND e.contact_id = c.id
          AND e.company_id IS NOT DISTINCT FROM c.company_id) AS events,
       (SELECT array_agg(e.idempotency_key || ' ' || t.source_id ORDER BY e.idempotency_key)
        FROM touchpoints t JOIN events e ON e.space_id = t.space_id AND e.id = t.id
        WHERE t.space_id = c.space_id AND t.contact_id = c.id
          AND t.company_id IS NOT DISTINCT FROM c.company_id) AS touchpoints
FROM contacts c
LEFT JOIN companies co ON co.space_id = c.space_id AND co.id = c.company_id
WHERE c.space_id = %(space_id)s AND c.merged_into IS NULL
"""
EVENTS = """
SELECT id, idempotency_key FROM events WHERE space_id = %(space_id)s
"""
MERGES = """
SELECT e.idempotency_key AS event, m.cause FROM merges m
JOIN events e ON e.space_id = m.space_id AND e.id = m.receipt_id
WHERE m.space_id = %(space_id)s
"""


def canonical(service: Service, account: Account) -> dict[str, list[str]]:
    """Return contacts with their merges, companies, paths, and the credits under several models."""
    parameters = {"space_id": account.space_id}
    with psycopg.connect(service.database_url, row_factory=dict_row) as connection:
        contacts = connection.execute(CONTACTS, parameters).fetchall()
        merges = connection.execute(MERGES, parameters).fetchall()
        rows = connection.execute(EVENTS, parameters).fetchall()
    keys = {row["id"]: row["idempotency_key"] for row in rows}
    credit_rows = [
        {"model": model, "event": keys[row["id"]], "touch": keys[int(row["touchpoint_id"])],
         "source": row["source"], "amount": row["amount"]}
        for model in MODELS
        for row in list_events(account, model)
    ]  # fmt: skip
    parts = {"contacts": contacts, "merges": merges, "credits": credit_rows}
    return {name: _lines(rows) for name, rows in parts.items()}


def list_events(account: Account, model: str | None = None) -> list[dict[str, Any]]:
    """Return every row of GET /events, page by page. With a model, include the touches' credits."""
    query: list[tuple[str, Any]] = [
        ("start_date", "2023-12-31 00:00:00"), ("end_date", "2024-03-31 00:00:00"),
        ("per_page", 1000),
    ]  # fmt: skip
    if model:
        query += [("attribution_model", model), ("attribution_window", 0)]
        query += [("sources[]", source) for source in SOURCES]
        query += [("fields[]", name) for name in ("amount", "source", "touchpoint_id")]
    rows: list[dict[str, Any]] = []
    cursor: str | None = ""
    with closing(HTTPConnection(account.host, account.port, timeout=PATIENCE_SECONDS)) as http:
        while cursor is not None:
            extra = [("cursor", cursor)] if cursor else []
            path = f"{API}/events?{urlencode(query + extra)}"
            http.request("GET", path, headers={"Authorization": f"Bearer {account.key}"})
            answer = http.getresponse()
            page = json.loads(answer.read())
            assert answer.status == 200, page
            rows += page["data"]
            cursor = page["next_cursor"]
    return rows


def _lines(rows: list[dict[str, Any]]) -> list[str]:
    """Return the rows sorted, so that two runs have the same order."""
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in rows)
