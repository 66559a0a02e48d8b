"""Encrypt stored secrets with the current key, while processes know both it and the former one."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from psycopg import AsyncConnection
from psycopg.sql import SQL, Identifier

from headwater.alerts.notifications import channels
from headwater.database.queries import Queries, fetch_all
from headwater.forwarding.destinations import credentials as destinations
from headwater.intake.watched import watched_files
from headwater.intake.webhooks import credentials as webhooks
from headwater.spaces.encryption import SealedColumn, Unsealable, reseal
from headwater.spaces.factors import factors
from headwater.spaces.sites import sites
from headwater.spaces.sso import providers, sign_in
from headwater.spend.connections import leases as spend_connections

queries = Queries(__name__, "renewal.sql")

SEALED_COLUMNS: Sequence[SealedColumn] = (
    providers.SEALED,
    sign_in.SEALED,
    factors.SEALED,
    *sites.SEALED,
    webhooks.SEALED,
    destinations.SEALED,
    spend_connections.SEALED,
    watched_files.SEALED,
    channels.SEALED,
)


class RenewedColumn(Struct, frozen=True):
    """How many values of a column were encrypted again, and how many neither key can decrypt."""

    table: str
    column: str
    renewed: int
    unreadable: int


async def renew_column(connection: AsyncConnection, sealed: SealedColumn, key: bytes) -> RenewedColumn:
    """Encrypt the values of a column with the first of the keys in `key`."""
    parts = {"table": Identifier(sealed.table), "column": Identifier(sealed.column)}
    keys = SQL(", ").join(map(Identifier, sealed.keys))
    renewed = unreadable = 0
    for value, *row in await fetch_all(connection, queries["sealed"].format(**parts, keys=keys)):
        try:
            values = {"sealed": value, "renewed": reseal(key, value, sealed.bind(*row))}
        except Unsealable:
            unreadable += 1
            continue
        if values["renewed"] is not None:
            renewed += (await connection.execute(queries["replace"].format(**parts), values)).rowcount
    return RenewedColumn(sealed.table, sealed.column, renewed, unreadable)
