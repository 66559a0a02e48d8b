from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psycopg import AsyncConnection, Connection

from headwater.database.queries import Queries, fetch_one, fetch_optional, make_cursor
from headwater.http.errors import Invalid, require_any, require_found
from headwater.spaces.locks import create_lock, lock_space
from headwater.spaces.models import Space
from headwater.spaces.reclassifications import request_reclassification
from headwater.spaces.rereadings import request_rereading
from headwater.spaces.settings_input import (
    ANSWER_PHRASE,
    MAX_ANSWER_PHRASES,
    MAX_SOURCE_NAMES,
    SETTINGS,
    SOURCE_NAME,
    SpaceChanges,
)

queries = Queries(__name__, "spaces.sql")


async def fetch_space(connection: AsyncConnection, space_id: int) -> Space:
    row = await fetch_optional(make_cursor(connection, Space), queries["fetch"], {"space_id": space_id})
    return require_found(row, "Space")


def list_space_ids(connection: Connection[Any]) -> list[int]:
    return [space_id for (space_id,) in connection.execute(queries["list_ids"])]


async def list_spaces(connection: AsyncConnection) -> list[Space]:
    cursor = await connection.execute(queries["list_ids"])
    return [await fetch_space(connection, space_id) for (space_id,) in await cursor.fetchall()]


async def any_space(connection: AsyncConnection) -> bool:
    return (await fetch_one(connection, queries["any"]))[0]


async def fetch_limits(connection: AsyncConnection, space_id: int) -> dict[str, int]:
    """Return requests a minute by bucket."""
    cursor = await connection.execute(queries["limits"], {"space_id": space_id})
    return dict(await cursor.fetchall())


async def create_space(connection: AsyncConnection, changes: SpaceChanges) -> Space:
    (space_id,) = await fetch_one(connection, queries["create"], {"name": changes.settings["name"]})
    await create_lock(connection, space_id)
    return await change_space(connection, space_id, changes)


async def change_space(connection: AsyncConnection, space_id: int, changes: SpaceChanges) -> Space:
    """Raises NotFound, and Invalid for too many source names or answer phrases."""
    space = {"space_id": space_id}
    require_any(await lock_space(connection, space_id), "Space")
    values = dict.fromkeys(SETTINGS) | changes.settings
    await connection.execute(queries["change"], space | values)
    await _change_labels(connection, space_id, changes)
    await _change_source_names(connection, space_id, changes.source_names)
    await _change_answer_phrases(connection, space_id, changes.answer_phrases)
    for bucket, per_minute in changes.limits.items():
        verb = "remove_limit" if per_minute is None else "put_limit"
        values = {"bucket": bucket, "per_minute": per_minute}
        await connection.execute(queries[verb], space | values)
    if changes.touch_access:
        await announce_access(connection, space_id)
    return await fetch_space(connection, space_id)


async def _change_source_names(connection: AsyncConnection, space_id: int, names: Mapping[str, str]) -> None:
    """Store names with a source, remove those without one, and reclassify stored rows by the changed ones."""
    for name, source in names.items():
        verb = "put_source_name" if source else "remove_source_name"
        values = {"space_id": space_id, "name": name, "source": source}
        if (await connection.execute(queries[verb], values)).rowcount:
            await request_reclassification(connection, space_id, name)
    if any(names.values()):
        row = await fetch_one(connection, queries["count_source_names"], {"space_id": space_id})
        if row[0] > MAX_SOURCE_NAMES:
            rule = f"a Space has {MAX_SOURCE_NAMES} at most"
            raise Invalid({SOURCE_NAME: [f"{SOURCE_NAME}: {rule}"]})


async def _change_answer_phrases(
    connection: AsyncConnection, space_id: int, phrases: Mapping[str, str]
) -> None:
    """Store phrases with a source, and remove those without one. After a change, stored answers are read
    again.
    """
    changed_count = 0
    for phrase, source in phrases.items():
        verb = "put_answer_phrase" if source else "remove_answer_phrase"
        values = {"space_id": space_id, "phrase": phrase, "source": source}
        changed_count += (await connection.execute(queries[verb], values)).rowcount
    if changed_count:
        await request_rereading(connection, space_id)
        row = await fetch_one(connection, queries["count_answer_phrases"], {"space_id": space_id})
        if row[0] > MAX_ANSWER_PHRASES:
            rule = f"a Space has {MAX_ANSWER_PHRASES} at most"
            raise Invalid({ANSWER_PHRASE: [f"{ANSWER_PHRASE}: {rule}"]})


async def announce_access(connection: AsyncConnection, space_id: int) -> None:
    """Clear API processes' caches when the transaction commits."""
    await connection.execute(queries["announce_access"], {"space_id": space_id})


async def _change_labels(connection: AsyncConnection, space_id: int, changes: SpaceChanges) -> None:
    for kind, labels in (("event_label", changes.event_labels), ("field_label", changes.field_labels)):
        for slot, label in labels.items():
            verb = queries[f"{'put' if label else 'remove'}_{kind}"]
            await connection.execute(verb, {"space_id": space_id, "slot": slot, "label": label})
