"""Everything stored about a person as JSON lines, to answer their request for it: what an erasure would
delete, and what it would keep.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

import msgspec
from psycopg import AsyncConnection
from psycopg.sql import SQL, Composed, Identifier
from psycopg.types.json import Jsonb

from headwater.database.queries import Queries, fetch_all
from headwater.privacy.redaction import PayloadMatcher
from headwater.privacy.scrub import queries as scrub_queries
from headwater.spaces.models import Space

queries = Queries(__name__, "disclosure.sql")

Values = Mapping[str, Any]

DISCLOSURE_SECONDS = 60.0
"""For the transaction, which reads rejected requests and webhook deliveries of the whole Space."""
INTERNAL = [
    *("space_id", "source_id", "source_mask", "tag_set_id", "digest", "by_hit"),
    *("recency", "since", "phone_digits", "credit", "former_event", "revision", "undone_revision"),
]
"""Columns without personal data, and those whose content another column shows in readable form."""


def _rows(name: str, table: str, *order: str) -> Composed:
    columns = SQL(", ").join(Identifier("r", column) for column in order)
    return queries[name].format(table=Identifier(table), order=columns)


STORED_ROWS = {
    "contact": queries["contacts"],
    "merge": queries["merges"],
    "identifier": _rows("rows", "contact_identifiers", "kind", "since", "value"),
    "event": _rows("rows", "events", "event_time", "id"),
    "touchpoint": _rows("rows_with_source", "touchpoints", "occurred_at", "id"),
    "visit": _rows("rows_with_source", "visits", "started_at", "id"),
    "page_view": _rows("rows_with_source", "hits", "occurred_at", "id"),
    "ad_click": queries["clicks"],
    "joined_browser": _rows("rows", "unsigned_joins", "joined_at", "browser"),
    "delivery": queries["deliveries"],
    "delivery_attempt": queries["attempts"],
}
"""By the `record` that a line is."""


async def disclose(
    connection: AsyncConnection, space: Space, contact_id: int, most: int | None = None
) -> AsyncGenerator[list[bytes]]:
    """Yield the lines of a contact and those merged into it by record, at most `most` of each. The first one
    names the Space and its labels. The last ones mention the person, and perhaps others: requests, webhook
    deliveries and refused rows. Needs a transaction with one snapshot.
    """
    labels = {"events": space.event_labels, "profile_fields": space.field_labels}
    yield [_write_line("space", {"name": space.name, "timezone": space.timezone, "labels": labels})]
    contact = {"space_id": space.id, "contact_id": contact_id}
    group = [member for (member,) in await fetch_all(connection, scrub_queries["group"], contact)]
    sources = Jsonb({number: name for name, number in space.sources.numbers.items()})
    values = {"space_id": space.id, "group": group, "internal": INTERNAL, "sources": sources, "most": most}
    for record, query in STORED_ROWS.items():
        yield await _read_lines(connection, record, query, values)
    person = PayloadMatcher(await fetch_all(connection, scrub_queries["identifiers"], values))
    yield await _find_rejected(connection, values, person)
    ids = await _find_webhook_deliveries(connection, values, person)
    yield await _read_lines(
        connection, "webhook_delivery", queries["webhook_deliveries"], {**values, "ids": ids}
    )
    yield await _find_refused_rows(connection, values, person)


async def _read_lines(
    connection: AsyncConnection, record: str, query: SQL | Composed, values: Values
) -> list[bytes]:
    """Write an object for each row, with the record before its other members; it is never empty."""
    rows = await fetch_all(connection, query, values)
    return [f'{{"record": "{record}", {row[1:]}\n'.encode() for (row,) in rows]


async def _find_rejected(connection: AsyncConnection, values: Values, person: PayloadMatcher) -> list[bytes]:
    query = scrub_queries["payloads"].format(queue=Identifier("rejected"))
    return [
        _write_line("rejected_request", {"request": request, "payload": payload})
        async for _, request, payload in connection.cursor().stream(query, values)
        if person.redact(request, payload) != payload
    ]


async def _find_webhook_deliveries(
    connection: AsyncConnection, values: Values, person: PayloadMatcher
) -> list[int]:
    rows = connection.cursor().stream(scrub_queries["deliveries"], values)
    return [row_id async for row_id, is_theirs, texts in rows if is_theirs or any(map(person.is_in, texts))]


async def _find_refused_rows(
    connection: AsyncConnection, values: Values, person: PayloadMatcher
) -> list[bytes]:
    rows = connection.cursor().stream(scrub_queries["refused_rows"], values)
    return [
        _write_line("refused_row", {"import_id": import_id, "row": row, "reason": reason, "cells": cells})
        async for import_id, row, reason, cells in rows
        if person.is_in(reason) or person.is_in(cells)
    ]


def _write_line(record: str, members: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode({"record": record, **members}) + b"\n"
