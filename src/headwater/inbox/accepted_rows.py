"""The rows that were accepted, on their way into the inbox: one statement on a single PostgreSQL,
and lists of values in a cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import cache
from typing import NamedTuple

from psycopg import AsyncConnection, AsyncRawCursor

from headwater.cluster.presence import leads_to_cluster
from headwater.database.bulk_values import array, parameter_rows
from headwater.database.queries import Queries
from headwater.identity.senders import Sender

queries = Queries(__name__, "accepted_rows.sql")
_DRAW = queries["draw_receipts"].as_bytes()

MOST_VALUES = 128
"""The rows of one statement: each number of them is another one, which is prepared once."""


class AcceptedRows(NamedTuple):
    """Rows for the inbox, column by column."""

    spaces: list[int]
    kinds: list[str]
    senders: list[Sender]
    payloads: list[bytes]


async def append(
    connection: AsyncConnection, rows: AcceptedRows, *, in_cluster: bool | None = None
) -> list[int]:
    """Add accepted rows to the inbox and return their receipts. The rows are in the queue once the
    connection commits. Whether that is of a cluster is looked up where it is not known.
    """
    if not rows.payloads:
        return []
    if in_cluster is None:
        in_cluster = await leads_to_cluster(connection)
    if in_cluster:
        return await _append_listed(connection, rows)
    kinds, senders = rows.kinds, rows.senders
    cursor = await connection.execute(
        queries["append"],
        {
            # The driver's own array encoding would cost half of the whole request.
            "spaces": array(rows.spaces),
            "kind": kinds[0],
            "kinds": array(() if _are_equal(kinds) else kinds),
            "sender": senders[0],
            "senders": array(() if _are_equal(senders) else senders),
            "payloads": b"\n".join(rows.payloads).decode(),
            "received_at": datetime.now(UTC),
        },
    )
    # Ids are drawn in row order, so sorted they are the rows' receipts.
    return sorted([row[0] for row in await cursor.fetchall()])


def _are_equal(words: Sequence[str]) -> bool:
    return words.count(words[0]) == len(words)


async def _append_listed(connection: AsyncConnection, rows: AcceptedRows) -> list[int]:
    cursor = AsyncRawCursor(connection)
    await cursor.execute(_DRAW, [len(rows.payloads)], prepare=True)
    receipts = sorted([row[0] for row in await cursor.fetchall()])
    received_at = datetime.now(UTC)
    # As texts, whose type never changes: each would else be of the smallest type that holds it, and
    # the statement another one.
    ids, spaces = map(str, receipts), map(str, rows.spaces)
    texts = [payload.decode() for payload in rows.payloads]
    listed = list(zip(spaces, ids, rows.kinds, rows.senders, texts, strict=True))
    parts = [listed[at : at + MOST_VALUES] for at in range(0, len(listed), MOST_VALUES)]
    # A single statement is a transaction already, and of one Space a single round trip to its node.
    async with nullcontext() if len(parts) == 1 else connection.transaction():
        for part in parts:
            values = [received_at, *(value for row in part for value in row)]
            await cursor.execute(_append_statement(len(part)), values, prepare=True)
    return receipts


@cache
def _append_statement(rows: int) -> bytes:
    """Return the statement for so many rows, of five values each beside one that they share."""
    listed = parameter_rows(rows, "($1, {}, {}, {}, {}, {})", shared=1)
    return queries["append_listed"].format(rows=listed).as_bytes()
