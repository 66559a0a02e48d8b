"""Recent values of touchpoints, suggested in the link builder."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field
from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_all
from headwater.sources.parameters import read_parameters

queries = Queries(__name__, "link_values.sql")

MOST_SETS = 1_000
"""Latest distinct combinations of campaign, ad set, ad and keyword to read."""
MOST_TOUCHPOINTS = 500
"""Latest touchpoints whose utm_source and utm_medium are read."""
MOST_VALUES = 100
LONGEST = 200
_FIELDS = ("campaign", "adset", "ad", "keyword", "address")
_TAGS = frozenset({"utm_source", "utm_medium"})


class LatestValues(Struct, frozen=True):
    """Values by link builder field, latest first."""

    by_field: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def of(self, name: str) -> list[str]:
        return self.by_field.get(name, [])


async def fetch_latest_values(connection: AsyncConnection, space_id: int) -> LatestValues:
    values = {"space_id": space_id, "most": MOST_SETS}
    rows = await fetch_all(connection, queries["tag_sets"], values)
    by_field = {name: _different(row[index] for row in rows) for index, name in enumerate(_FIELDS)}
    values = {"space_id": space_id, "most": MOST_TOUCHPOINTS}
    tags = [
        read_parameters(url, _TAGS, ()) for (url,) in await fetch_all(connection, queries["urls"], values)
    ]
    for name in sorted(_TAGS):
        by_field[name] = _different(tag.get(name) for tag in tags)
    return LatestValues(by_field)


def _different(values: Iterable[str | None]) -> list[str]:
    different = dict.fromkeys(value for value in values if value and len(value) <= LONGEST)
    return list(different)[:MOST_VALUES]
