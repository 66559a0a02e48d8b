"""The log of merges: what the pipeline writes of each, and how people read it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from psycopg import Connection

from headwater.contacts.storing import Profiles
from headwater.database.rows import rows
from headwater.database.statements import Statements
from headwater.identity.directory import Merge

SQL = Statements(__name__, "merges.sql")


def log_merges(
    connection: Connection[Any], space_id: int, merges: Iterable[Merge], profiles: Profiles
) -> None:
    """Store the merges of a batch, with what undoing each would need."""
    logged = [_logged(merge, profiles) for merge in merges]
    if logged:
        connection.execute(SQL["log"], {"space_id": space_id, "merges": rows(logged)})


def _logged(merge: Merge, profiles: Profiles) -> dict[str, object]:
    profile = profiles.of(merge.loser)
    return {
        "id": merge.id,
        "merged_id": merge.loser.id,
        "survivor_id": merge.survivor.id,
        "cause": merge.cause,
        "receipt_id": merge.receipt_id,
        "company_id": profile.company and profile.company.id,
        "filled": profile.given,
    }
