"""Page views by bots: left out of everything else, and counted on their site. Whoever calls holds
the Space's lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psycopg import Connection

from headwater.sites.sites import queries


def count_bots(connection: Connection[Any], space_id: int, counts: Mapping[int, int]) -> None:
    """Add to the page views by bots, by site."""
    values = [
        {"space_id": space_id, "site_id": site_id, "hits": hits} for site_id, hits in counts.items()
    ]
    if values:
        connection.cursor().executemany(queries["count_bots"], values)
