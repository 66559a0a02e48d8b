"""The log of merges, with the data to undo them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from msgspec import Struct
from psycopg import AsyncConnection, Connection

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries, fetch_all, make_cursor
from headwater.people.contacts.batch_store import Profiles
from headwater.people.contacts.lookup import resolve
from headwater.people.identity.directory import EMAIL, TRK_TOKEN, Merge

queries = Queries(__name__, "merge_log.sql")

CAUSES = {
    EMAIL: "one event had the email of one contact and the tracking_id of the other",
    TRK_TOKEN: "an event of a known contact had the trk_token of an anonymous one",
}


class LoggedMerge(Struct, frozen=True):
    id: int
    merged_at: datetime
    merged_id: int
    survivor_id: int
    cause: str
    """The kind of the shared identifier."""
    receipt_id: int | None
    """The event with the identifier."""
    sender: str | None
    """A Sender of `people.identity.senders`."""
    filled: list[str]
    """The survivor's columns filled from the merged contact."""
    undone_at: datetime | None

    @property
    def explanation(self) -> str:
        return CAUSES[self.cause]


def log_merges(
    connection: Connection[Any], space_id: int, merges: Iterable[Merge], profiles: Profiles
) -> None:
    entries = [_make_entry(merge, profiles) for merge in merges]
    if entries:
        connection.execute(queries["log"], {"space_id": space_id, "merges": rows(entries)})


def _make_entry(merge: Merge, profiles: Profiles) -> dict[str, object]:
    profile = profiles.get(merge.loser)
    return {
        "id": merge.id,
        "merged_id": merge.loser.id,
        "survivor_id": merge.survivor.id,
        "cause": merge.cause,
        "receipt_id": merge.receipt_id,
        "sender": merge.sender,
        "company_id": profile.company and profile.company.id,
        "filled": profile.filled,
    }


async def list_merges(
    connection: AsyncConnection, space_id: int, contact_id: int | None, limit: int
) -> list[LoggedMerge]:
    """Return the latest merges, newest first. Raises NotFound."""
    values = {"space_id": space_id, "contact_id": contact_id, "limit": limit}
    if contact_id is not None:
        await resolve(connection, space_id, contact_id)
    statement = "list" if contact_id is None else "list_of_contact"
    return await fetch_all(make_cursor(connection, LoggedMerge), queries[statement], values)
