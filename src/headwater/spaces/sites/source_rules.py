"""A Space's part of the source rules: exclusions, including its own hosts, and names."""

from __future__ import annotations

from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_all
from headwater.sources.addresses import read_address
from headwater.sources.exclusions import make_exclusions
from headwater.sources.space_rules import SourceRules
from headwater.spaces.models import Space

queries = Queries(__name__, "source_rules.sql")


async def fetch_source_rules(connection: AsyncConnection, space: Space) -> SourceRules:
    own_hosts = (*space.own_domains, *await fetch_own_hosts(connection, space.id))
    hosts = tuple(host for host in own_hosts if read_address(host) is not None)
    return SourceRules(
        make_exclusions(hosts, tuple(space.excluded_referrers), tuple(space.heeded_referrers)), space.sources
    )


async def fetch_own_hosts(connection: AsyncConnection, space_id: int) -> list[str]:
    rows = await fetch_all(connection, queries["own_hosts"], {"space_id": space_id})
    return [host for (host,) in rows if read_address(host) is not None]
