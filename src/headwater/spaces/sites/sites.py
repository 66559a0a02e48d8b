"""Sites, looked up by their public key, which is in every page. The origin proves that a browser shows one of
the site's pages. With the signing secret, which no page holds, the business's server vouches for a page's
data.
"""

from __future__ import annotations

import re
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from msgspec import Struct
from psycopg import AsyncConnection, Connection
from psycopg.sql import Composed

from headwater.database.bulk_values import rows
from headwater.database.pool import Database
from headwater.database.queries import Queries, fetch_all, fetch_optional, make_cursor
from headwater.http.errors import Forbidden, Invalid, Unauthorized, require_found
from headwater.http.rate_limits import RateLimit
from headwater.http.refusal_log import log_refusal
from headwater.spaces.access import Caller
from headwater.spaces.credential_cache import CredentialCache
from headwater.spaces.encryption import SealedColumn, Unsealable, seal, unseal
from headwater.spaces.settings_input import read_name
from headwater.spaces.sites.origins import is_among, parse_origins
from headwater.spaces.sites.refusals import RefusalNotes
from headwater.spaces.sites.signatures import SigningSecret, new_secret
from headwater.spaces.spaces import announce_access, fetch_space

queries = Queries(__name__, "sites.sql")
_LIST, _FETCH, _CREATE, _CHANGE, _REVOKE = (
    queries[name].format(columns=queries["columns"])
    for name in ("list", "fetch", "create", "change", "revoke")
)
log = structlog.get_logger()

PREFIX = "trk_pk_"
SCOPE = "events:write"
REPORTING = RateLimit("hits", 60_000)
"""Items a minute from all browsers of a Space."""
_KEY = re.compile(PREFIX + r"[A-Za-z0-9_-]{8,64}")


BotPeriod = tuple[int, int]
"""A site, and a quarter of an hour, counted from 1970."""


@dataclass(frozen=True)
class Site:
    id: int
    name: str
    site_key: str
    origins: list[str]
    accepts_amounts: bool
    signed_only: bool
    """True if only servers and signed identifications may join a browser to a known contact."""
    bot_hits: int
    """Page views by bots, which are not counted."""
    created_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class ActiveSite:
    id: int
    caller: Caller
    """Its only scope is to write events."""
    origins: tuple[str, ...]
    accepts_amounts: bool = True
    signed_only: bool = False
    secrets: tuple[SigningSecret, ...] = ()

    def admit(self, origin: str) -> None:
        """Raise Forbidden unless the site accepts this origin."""
        if not is_among(origin, self.origins):
            raise Forbidden("The page's origin is not an address of the site.")


class NewSite(Struct, frozen=True):
    name: str
    origins: Sequence[str]
    accepts_amounts: bool = True
    signed_only: bool = False


async def create_site(
    connection: AsyncConnection, space_id: int, new: NewSite, key: bytes
) -> tuple[Site, str]:
    """Create a site; returns it with its signing secret, encrypted with `key`. Raises Invalid, NotFound."""
    site_key, secret = PREFIX + secrets.token_urlsafe(18), new_secret()
    values = {
        "space_id": (await fetch_space(connection, space_id)).id,
        "name": read_name(new.name),
        "origins": _origins(new.origins),
        "accepts_amounts": new.accepts_amounts,
        "signed_only": new.signed_only,
        "site_key": site_key,
        "signing_secret": seal(key, secret, site_key.encode()),
    }
    return await _execute_for_site(connection, _CREATE, values), secret


async def list_sites(connection: AsyncConnection, space_id: int) -> list[Site]:
    """Include revoked sites, oldest first. Raises NotFound."""
    await fetch_space(connection, space_id)
    return await fetch_all(make_cursor(connection, Site), _LIST, {"space_id": space_id})


async def fetch_site(connection: AsyncConnection, space_id: int, site_id: int) -> Site:
    """Return a site, revoked or not. Raises NotFound."""
    values = {"space_id": space_id, "site_id": site_id}
    return require_found(await fetch_optional(make_cursor(connection, Site), _FETCH, values), "Site")


class SiteChange(Struct, frozen=True):
    name: str | None = None
    origins: Sequence[str] | None = None
    accepts_amounts: bool | None = None
    signed_only: bool | None = None


async def change_site(connection: AsyncConnection, space_id: int, site_id: int, change: SiteChange) -> Site:
    """Apply changes when the transaction commits. Raises Invalid or NotFound."""
    values = {
        "space_id": space_id,
        "site_id": site_id,
        "name": None if change.name is None else read_name(change.name),
        "origins": None if change.origins is None else _origins(change.origins),
        "accepts_amounts": change.accepts_amounts,
        "signed_only": change.signed_only,
    }
    return await _execute_for_site(connection, _CHANGE, values)


async def revoke_site(connection: AsyncConnection, space_id: int, site_id: int) -> Site:
    """Revoke a site when the transaction commits. Raises NotFound."""
    return await _execute_for_site(connection, _REVOKE, {"space_id": space_id, "site_id": site_id})


async def fetch_secret(connection: AsyncConnection, space_id: int, site_id: int, key: bytes) -> str | None:
    """Return None for a site without a secret. Raises NotFound or Unsealable."""
    site_key, sealed = await _secret(connection, space_id, site_id)
    return None if sealed is None else unseal(key, sealed, site_key.encode()).decode()


async def rotate_secret(
    connection: AsyncConnection, space_id: int, site_id: int, key: bytes, *, overlap: float
) -> str:
    """Replace and return a site's signing secret. The former stays valid for `overlap` seconds. Raises
    NotFound.
    """
    site_key, _ = await _secret(connection, space_id, site_id)
    secret = new_secret()
    values = {
        "space_id": space_id,
        "site_id": site_id,
        "signing_secret": seal(key, secret, site_key.encode()),
        "overlap": overlap,
    }
    await connection.execute(queries["rotate"], values)
    await announce_access(connection, space_id)
    return secret


def count_bots(connection: Connection[Any], space_id: int, counts: Mapping[BotPeriod, int]) -> None:
    """Add page views by bots. The caller holds the Space's lock."""
    if not counts:
        return
    by_site, by_quarter = Counter[int](), Counter[int]()
    for (site_id, quarter), views in counts.items():
        by_site[site_id] += views
        by_quarter[quarter] += views
    sites = [{"space_id": space_id, "site_id": site_id, "hits": hits} for site_id, hits in by_site.items()]
    connection.cursor().executemany(queries["count_bots"], sites)
    quarters = [{"quarter": quarter, "views": views} for quarter, views in sorted(by_quarter.items())]
    connection.execute(queries["count_bot_views"], {"space_id": space_id, "counts": rows(quarters)})


async def _secret(connection: AsyncConnection, space_id: int, site_id: int) -> tuple[str, bytes | None]:
    cursor = await connection.execute(queries["secret"], {"space_id": space_id, "site_id": site_id})
    row = require_found(await cursor.fetchone(), "Site")
    return row[0], row[1]


async def _execute_for_site(connection: AsyncConnection, statement: Composed, values: dict[str, Any]) -> Site:
    site = require_found(await fetch_optional(make_cursor(connection, Site), statement, values), "Site")
    await announce_access(connection, values["space_id"])
    return site


def _origins(texts: Sequence[str]) -> list[str]:
    try:
        return parse_origins(texts)
    except ValueError as error:
        raise Invalid({"origin": [f"origin: {error}"]}) from None


class SiteCache(CredentialCache[str, ActiveSite]):
    def __init__(self, database: Database, sealing_key: bytes) -> None:
        super().__init__(database, queries["find"], lambda row: _open(row, sealing_key))
        self.refusals = RefusalNotes(database)

    async def site(self, key: str) -> ActiveSite:
        """Raises Unauthorized, or one of UNAVAILABLE."""
        site = await self.find(key) if _KEY.fullmatch(key) else None
        if site is None:
            log_refusal("site_key_unknown")
            raise Unauthorized("Unknown or revoked site key.")
        return site


def _open(row: tuple[Any, ...], sealing_key: bytes) -> ActiveSite:
    key, space_id, site_id, origins, active, limits, accepts_amounts, signed_only, *sealed = row
    caller = Caller(space_id, site_id, frozenset({SCOPE}), active, limits)
    signing = _unsealed(key, sealing_key, *sealed)
    return ActiveSite(site_id, caller, tuple(origins), accepts_amounts, signed_only, signing)


def _unsealed(
    key: str, sealing_key: bytes, secret: bytes | None, former_secret: bytes | None, until: float | None
) -> tuple[SigningSecret, ...]:
    """Return a site's secrets; empty if they cannot be decrypted, so that its pages can still send unsigned
    events.
    """
    sealed_secrets = [(secret, None), (former_secret, until)]
    try:
        return tuple(
            SigningSecret(unseal(sealing_key, sealed, key.encode()), valid_until)
            for sealed, valid_until in sealed_secrets
            if sealed is not None
        )
    except Unsealable:
        log.warning("site_secret_unreadable", site_key=key)
        return ()


SEALED = [
    SealedColumn("sites", column, ("site_key",), str.encode) for column in ("signing_secret", "former_secret")
]
