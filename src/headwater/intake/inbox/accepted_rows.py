from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from psycopg import AsyncConnection

from headwater.database.bulk_values import array
from headwater.database.queries import Queries
from headwater.people.identity.senders import Sender

queries = Queries(__name__, "accepted_rows.sql")


class AcceptedRows(NamedTuple):
    """Rows for the inbox, by column."""

    spaces: list[int]
    kinds: list[str]
    senders: list[Sender]
    payloads: list[bytes]


async def append(connection: AsyncConnection, rows: AcceptedRows) -> list[int]:
    """Return receipts. The caller commits."""
    if not rows.payloads:
        return []
    kinds, senders = rows.kinds, rows.senders
    cursor = await connection.execute(
        queries["append"],
        {
            # The driver's array encoding takes half of the request's time.
            "spaces": array(rows.spaces),
            "kind": kinds[0],
            "kinds": array(() if _are_equal(kinds) else kinds),
            "sender": senders[0],
            "senders": array(() if _are_equal(senders) else senders),
            "payloads": b"\n".join(rows.payloads).decode(),
            "received_at": datetime.now(UTC),
        },
    )
    # Ids are drawn in row order.
    return sorted([row[0] for row in await cursor.fetchall()])


def _are_equal(words: Sequence[str]) -> bool:
    return words.count(words[0]) == len(words)
