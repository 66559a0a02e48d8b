"""Watched files. Their secrets are encrypted and never returned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field
from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from headwater.database.jobs.due_tasks import AccountKey
from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional, make_cursor
from headwater.http.answers import Moment
from headwater.http.errors import Invalid, require_any, require_found
from headwater.intake.imports.kinds import KINDS
from headwater.intake.watched.addresses import read_address
from headwater.intake.watched.faults import WatchFault
from headwater.intake.watched.inputs import WatchedFileValues, read_change
from headwater.spaces.encryption import SealedColumn, Unsealable, seal_values, unseal_values
from headwater.spaces.spaces import fetch_space

queries = Queries(__name__, "watched_files.sql")

MOST_WATCHED = 50
"""Per Space."""


class WatchedFile(Struct, frozen=True, kw_only=True):
    """A file that is fetched from an address and imported when it changes."""

    id: int
    kind: Annotated[str, Meta(description="What it has.", extra_json_schema={"enum": [*KINDS]})]
    name: str
    address: str
    settings: Annotated[dict[str, Any], Meta(description="How it is read; omitted ones are detected.")]
    secret_names: Annotated[list[str], Meta(description="The names of its secrets.")] = field(name="secrets")
    status: Annotated[
        Literal["active", "paused", "held"],
        Meta(description="A held one waits for a change, or to be resumed; `fault` says why."),
    ]
    created_at: Moment
    next_fetch_at: Moment
    fetched_at: Annotated[Moment | None, Meta(description="The last fetch that worked.")]
    failures: Annotated[int, Meta(description="Fetches that failed since.")]
    failing_since: Moment | None
    fault: Annotated[str | None, Meta(extra_json_schema={"enum": [*map(str, WatchFault), None]})]
    fault_message: Annotated[str | None, Meta(description="The fault in words.")] = field(name="message")


class WatchedFileRow(WatchedFile, frozen=True, kw_only=True):
    is_fetching: bool


async def create_watched_file(
    connection: AsyncConnection, space_id: int, new: WatchedFileValues, key: bytes
) -> WatchedFileRow:
    """Create a watched file, which is fetched immediately; `key` seals the secrets. Raises NotFound, or
    Invalid at the limit.
    """
    space = {"space_id": (await fetch_space(connection, space_id)).id}
    (count,) = await fetch_one(connection, queries["count"], space)
    if count >= MOST_WATCHED:
        raise Invalid.of("address", f"cannot be added: a Space has at most {MOST_WATCHED} watched files.")
    values = {**space, "kind": new.kind, **_changeable(new)}
    (watched_file_id,) = await fetch_one(connection, queries["create"], values)
    await _put_secrets(connection, AccountKey(space_id, watched_file_id), new.secrets, key)
    return await fetch_watched_file(connection, space_id, watched_file_id)


async def list_watched_files(connection: AsyncConnection, space_id: int) -> list[WatchedFileRow]:
    """Return the oldest first."""
    return await _read(connection, space_id, None)


async def fetch_watched_file(
    connection: AsyncConnection, space_id: int, watched_file_id: int
) -> WatchedFileRow:
    """Raise NotFound if missing."""
    return require_any(await _read(connection, space_id, watched_file_id), "Watched file")[0]


async def change_watched_file(
    connection: AsyncConnection,
    row: AccountKey,
    members: Mapping[str, Any],
    key: bytes,
    *,
    allows_files: bool,
) -> WatchedFileRow:
    """Change the fields in `members`. Raises NotFound, or Invalid naming every wrong field."""
    current = await _lock(connection, row, key)
    changed_values = read_change(members, current, allows_files=allows_files)
    await connection.execute(queries["change"], {**row._asdict(), **_changeable(changed_values)})
    if changed_values.secrets != current.secrets:
        await _put_secrets(connection, row, changed_values.secrets, key)
    if members.keys() & {"address", "settings", "secrets"}:
        await connection.execute(queries["retry"], row._asdict())
    return await fetch_watched_file(connection, *row)


async def pause_watched_file(
    connection: AsyncConnection, space_id: int, watched_file_id: int
) -> WatchedFileRow:
    """Stop fetching; a running fetch imports nothing. Raises NotFound."""
    return await _act(connection, AccountKey(space_id, watched_file_id), "pause")


async def resume_watched_file(
    connection: AsyncConnection, space_id: int, watched_file_id: int
) -> WatchedFileRow:
    """Fetch again, now, after a pause or a hold. Raises NotFound."""
    return await _act(connection, AccountKey(space_id, watched_file_id), "resume")


async def fetch_file_now(connection: AsyncConnection, space_id: int, watched_file_id: int) -> WatchedFileRow:
    """Fetch an active file now instead of at its next turn. Raises NotFound."""
    return await _act(connection, AccountKey(space_id, watched_file_id), "fetch_now")


async def delete_watched_file(connection: AsyncConnection, space_id: int, watched_file_id: int) -> None:
    """Delete a watched file and its secrets. Its imports stay. Raises NotFound."""
    cursor = await connection.execute(queries["delete"], AccountKey(space_id, watched_file_id)._asdict())
    require_any(cursor.rowcount, "Watched file")


def open_secrets(key: bytes, row: AccountKey, sealed: bytes | None) -> dict[str, str]:
    """Raise Unsealable if the key has changed."""
    return unseal_values(key, sealed, _seal_label(row))


def _seal_label(row: AccountKey) -> bytes:
    return b"watched file %d of space %d" % (row.id, row.space_id)


def _changeable(values: WatchedFileValues) -> dict[str, Any]:
    return {"name": values.name, "address": values.address.text, "settings": Jsonb(values.settings)}


async def _act(connection: AsyncConnection, row: AccountKey, verb: str) -> WatchedFileRow:
    await connection.execute(queries[verb], row._asdict())
    return await fetch_watched_file(connection, *row)


async def _lock(connection: AsyncConnection, row: AccountKey, key: bytes) -> WatchedFileValues:
    stored_values = await fetch_optional(connection, queries["lock"], row._asdict())
    kind, name, address, settings, sealed = require_found(stored_values, "Watched file")
    try:
        secrets = open_secrets(key, row, sealed)
    except Unsealable:
        secrets = {}
    return WatchedFileValues(kind, name, read_address(address), settings, secrets)


async def _read(
    connection: AsyncConnection, space_id: int, watched_file_id: int | None
) -> list[WatchedFileRow]:
    bound = {"space_id": space_id, "id": watched_file_id}
    return await fetch_all(make_cursor(connection, WatchedFileRow), queries["list"], bound)


async def _put_secrets(
    connection: AsyncConnection, row: AccountKey, secrets: dict[str, str], key: bytes
) -> None:
    sealed = seal_values(key, secrets, _seal_label(row))
    values = {**row._asdict(), "secrets": sealed, "names": sorted(secrets)}
    await connection.execute(queries["put_secrets"], values)


SEALED = SealedColumn(
    "watched_files", "secrets", ("space_id", "id"), lambda *row: _seal_label(AccountKey(*row))
)
