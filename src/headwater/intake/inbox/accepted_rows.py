from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from psycopg import AsyncConnection

from headwater.database.bulk_values import array
from headwater.database.queries import Queries
from headwater.people.identity.senders import Sender

queries = Queries(__name__, "accepted_rows.sql")


class NewRow(NamedTuple):
    """An accepted row for the inbox."""

    kind: str
    payload: bytes
    """JSON."""
    sender: Sender


async def append(
    connection: AsyncConnection, space_ids: Sequence[int], new_rows: Sequence[NewRow]
) -> list[int]:
    """Add rows, each for the Space at its position. Return receipts. The caller commits."""
    if not new_rows:
        return []
    kinds, payloads, senders = zip(*new_rows, strict=True)
    cursor = await connection.execute(
        queries["append"],
        {
            # The driver's array encoding takes half of the request's time.
            "spaces": array(space_ids),
            "kind": kinds[0],
            "kinds": array(() if _are_equal(kinds) else kinds),
            "sender": senders[0],
            "senders": array(() if _are_equal(senders) else senders),
            "payloads": b"\n".join(payloads).decode(),
            "received_at": datetime.now(UTC),
        },
    )
    # Ids are drawn in row order.
    return sorted([row[0] for row in await cursor.fetchall()])


def _are_equal(words: Sequence[str]) -> bool:
    return words.count(words[0]) == len(words)
