"""Store a batch's identifiers, and move those of merged contacts to survivors."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any

import msgspec
from psycopg import Connection

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries
from headwater.people.identity.directory import Directory, Merge

queries = Queries(__name__, "identifiers.sql")


class StoredLink(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True, gc=False):
    """An identifier that the batch saw on `origin_id`. Times are in µs since 1970."""

    kind: str
    value: str
    origin_id: int
    first_seen: int
    last_seen: int
    recency: int
    contact_id: int | None = None
    """The survivor, if the origin has been merged."""
    since: int | None = None
    """The batch's last merge before the identifier was seen, if any."""


def write_merged_contacts(connection: Connection[Any], space_id: int, directory: Directory) -> None:
    merged_rows = [
        {"space_id": space_id, "merged_id": merge.loser.id, "survivor_id": merge.loser.final().id}
        for merge in directory.merges
        if not merge.loser.is_new
    ]
    if merged_rows:
        for name in ("move_links", "flatten_merges"):
            connection.cursor().executemany(queries[name], merged_rows)


def write_links(connection: Connection[Any], space_id: int, directory: Directory) -> None:
    last_merge = _find_last_merge(directory.merges)
    links: dict[str, list[StoredLink]] = {"add_links": [], "widen_links": []}
    for (kind, value), origin, use in directory.uses():
        link = StoredLink(
            kind=kind,
            value=value,
            origin_id=origin.id,
            first_seen=use.first_seen,
            last_seen=use.last_seen,
            recency=use.last_receipt,
            contact_id=origin.merged_into and origin.final().id,
            since=last_merge(use.first_receipt),
        )
        links["add_links" if origin.is_new else "widen_links"].append(link)
    for statement, statement_links in links.items():
        if statement_links:
            values = {"space_id": space_id, "number": directory.number, "links": rows(statement_links)}
            connection.execute(queries[statement], values)


def _find_last_merge(merges: list[Merge]) -> Callable[[int], int | None]:
    """Return a function from a receipt to the number of the last merge up to it."""
    numbers = [None, *(merge.id for merge in merges)]
    receipts = [merge.receipt_id for merge in merges]
    return lambda receipt_id: numbers[bisect_right(receipts, receipt_id)]
