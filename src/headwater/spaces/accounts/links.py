"""Links that work once, for users without a password. Only the hash of a link's token is stored. The
supervisor creates the first link. It imports little, so this module does too.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import TYPE_CHECKING

from headwater.database.queries import Queries, fetch_optional
from headwater.spaces.secret_hash import hash_secret

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Connection

queries = Queries(__name__, "links.sql")

SET_UP_LIFETIME = timedelta(days=1)
RESET_LIFETIME = timedelta(days=1)
SET_UP_PATH = "/console/set-up"
RESET_PATH = "/console/reset"


def make_set_up_link(connection: Connection) -> str | None:
    """Return the path of a link for the first account, and end earlier ones; None if there are accounts."""
    token, values = _new(SET_UP_LIFETIME)
    connection.execute(queries["end_set_up"])
    if connection.execute(queries["make_set_up"], values).rowcount == 0:
        return None
    return f"{SET_UP_PATH}/{token}"


async def remake_set_up_link(connection: AsyncConnection) -> str | None:
    """Do the same for a command that runs next to the service."""
    token, values = _new(SET_UP_LIFETIME)
    await connection.execute(queries["end_set_up"])
    cursor = await connection.execute(queries["make_set_up"], values)
    return f"{SET_UP_PATH}/{token}" if cursor.rowcount else None


async def make_reset_link(connection: AsyncConnection, user_id: int) -> str:
    """Return the path, and end earlier links."""
    token, values = _new(RESET_LIFETIME)
    values["user_id"] = user_id
    await connection.execute(queries["end_reset"], values)
    await connection.execute(queries["make_reset"], values)
    return f"{RESET_PATH}/{token}"


async def set_up_link_works(connection: AsyncConnection, token: str) -> bool:
    values = {"token_hash": hash_secret(token)}
    return await fetch_optional(connection, queries["set_up_works"], values) is not None


async def use_set_up_link(connection: AsyncConnection, token: str) -> bool:
    """Use the link. Concurrent requests wait, and are then refused."""
    await connection.execute(queries["alone"])
    values = {"token_hash": hash_secret(token)}
    return await fetch_optional(connection, queries["use_set_up"], values) is not None


async def find_reset_link(connection: AsyncConnection, token: str) -> int | None:
    """Return the id of the link's user."""
    values = {"token_hash": hash_secret(token)}
    row = await fetch_optional(connection, queries["find_reset"], values)
    return None if row is None else row[0]


async def use_reset_link(connection: AsyncConnection, token: str) -> int | None:
    """Return the id of the link's user."""
    values = {"token_hash": hash_secret(token)}
    row = await fetch_optional(connection, queries["use_reset"], values)
    return None if row is None else row[0]


def _new(lifetime: timedelta) -> tuple[str, dict[str, object]]:
    token = secrets.token_urlsafe(32)
    return token, {"token_hash": hash_secret(token), "lifetime": lifetime}
