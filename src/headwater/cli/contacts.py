"""`headwater contact …`: which contacts were merged and why, and undoing it."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import Any

from psycopg import AsyncConnection

from headwater.cli.connect import in_transaction
from headwater.cli.output import show
from headwater.merging import merge_log
from headwater.merging.unmerge import UnmergeResult
from headwater.merging.unmerge import unmerge as unmerge_contact
from headwater.settings import Settings
from headwater.spaces.spaces import fetch_space


def list_merges(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> list[merge_log.LoggedMerge]:
        await fetch_space(connection, arguments.space)
        return await merge_log.list_merges(
            connection, arguments.space, arguments.contact_id, arguments.limit
        )

    listed = in_transaction(settings, act)
    show([_in_words(merge) for merge in listed], as_json=arguments.json)
    return 0


def unmerge(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> UnmergeResult:
        await fetch_space(connection, arguments.space)
        return await unmerge_contact(connection, arguments.space, arguments.contact_id)

    show(asdict(in_transaction(settings, act)), as_json=arguments.json)
    return 0


def _in_words(merge: merge_log.LoggedMerge) -> dict[str, Any]:
    return {
        "merged_at": merge.merged_at,
        "contact_id": merge.merged_id,
        "merged_into": merge.survivor_id,
        "cause": merge.cause,
        "why": merge.why,
        "receipt_id": merge.receipt_id,
        "sender": merge.sender,
        "filled": merge.filled,
        "undone_at": merge.undone_at,
    }
