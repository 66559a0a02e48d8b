"""Sites: made, listed, changed, revoked, and found by their public key, which stands in every
page. The key names the site; that a browser shows one of its pages, the origin tells.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import class_row

from headwater.database.pool import Database
from headwater.database.statements import Statements
from headwater.http.errors import Forbidden, Invalid, NotFound, Unauthorized
from headwater.spaces.access import Caller
from headwater.spaces.changes import read_name
from headwater.spaces.rings import Ring
from headwater.spaces.spaces import announce_access, fetch_space
from headwater.tracker.origins import is_among, parse_origins

SQL = Statements(__name__, "sites.sql")

PREFIX = "trk_pk_"
SCOPE = "events:write"
_KEY = re.compile(PREFIX + r"[A-Za-z0-9_-]{8,64}")


@dataclass(frozen=True)
class Site:
    """A site as it is stored."""

    id: int
    name: str
    site_key: str
    origins: list[str]
    bot_hits: int
    """Page views by bots, which were left out."""
    created_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class OpenSite:
    """A site whose key is in use."""

    id: int
    caller: Caller
    """Its pages may write, and no more."""
    origins: tuple[str, ...]

    def admit(self, origin: str) -> None:
        """Raise Forbidden unless pages of this origin are the site's."""
        if not is_among(origin, self.origins):
            raise Forbidden("The page's origin is none of the site's.")


async def create_site(
    connection: AsyncConnection, space_id: int, name: str, origins: Sequence[str]
) -> Site:
    """A new site. Raises Invalid for a name or an origin that cannot be used, NotFound for an
    unknown Space.
    """
    values = {
        "space_id": (await fetch_space(connection, space_id)).id,
        "name": read_name(name),
        "origins": _origins(origins),
        "site_key": PREFIX + secrets.token_urlsafe(18),
    }
    return await _one(connection, "create", values)


async def list_sites(connection: AsyncConnection, space_id: int) -> list[Site]:
    """A Space's sites, revoked ones included, the oldest first. Raises NotFound."""
    await fetch_space(connection, space_id)
    cursor = connection.cursor(row_factory=class_row(Site))
    return await (await cursor.execute(SQL["list"], {"space_id": space_id})).fetchall()


async def change_site(
    connection: AsyncConnection, space_id: int, site_id: int, origins: Sequence[str]
) -> Site:
    """Replace a site's origins, from the commit on. Raises Invalid or NotFound."""
    values = {"space_id": space_id, "site_id": site_id, "origins": _origins(origins)}
    return await _one(connection, "change", values)


async def revoke_site(connection: AsyncConnection, space_id: int, site_id: int) -> Site:
    """End a site, from the commit on. Raises NotFound; revoking twice changes nothing."""
    return await _one(connection, "revoke", {"space_id": space_id, "site_id": site_id})


async def _one(connection: AsyncConnection, statement: str, values: dict[str, Any]) -> Site:
    cursor = connection.cursor(row_factory=class_row(Site))
    site = await (await cursor.execute(SQL[statement], values)).fetchone()
    if site is None:
        raise NotFound("Site")
    await announce_access(connection, values["space_id"])
    return site


def _origins(texts: Sequence[str]) -> list[str]:
    try:
        return parse_origins(texts)
    except ValueError as error:
        raise Invalid({"origin": [f"origin: {error}"]}) from None


class SiteRing(Ring[str, OpenSite]):
    """The sites whose pages report, by key."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, SQL["find"], _open)

    async def site(self, key: str) -> OpenSite:
        """The site of a key. Raises Unauthorized, or one of UNAVAILABLE."""
        found = await self.find(key) if _KEY.fullmatch(key) else None
        if found is None:
            raise Unauthorized("Unknown or revoked site key.")
        return found


def _open(row: tuple[Any, ...]) -> OpenSite:
    _, space_id, site_id, origins, active, limits = row
    caller = Caller(space_id, site_id, frozenset({SCOPE}), active, limits)
    return OpenSite(site_id, caller, tuple(origins))
