"""Page views by site, among the latest of the Space."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_all, make_cursor
from headwater.spaces.sites.origins import is_among
from headwater.spaces.sites.sites import Site

queries = Queries(__name__, "sites.sql")

MOST_VIEWS = 10_000
"""Latest page views of a Space to read."""
MOST_ORIGINS = 500


class _Seen(Struct, frozen=True):
    origin: str | None
    seen_at: datetime
    views: int
    looked_at: int


class SiteActivity(Struct, frozen=True):
    seen_at: datetime | None
    views: int
    """In 24 hours."""
    is_all: bool
    """Whether no older page view could change the figures."""

    @property
    def views_text(self) -> str:
        return f"{self.views:,}{'' if self.is_all else '+'}"


async def read_activity(
    connection: AsyncConnection, space_id: int, sites: Sequence[Site]
) -> dict[int, SiteActivity]:
    values = {"space_id": space_id, "most": MOST_VIEWS, "most_origins": MOST_ORIGINS}
    rows = await fetch_all(make_cursor(connection, _Seen), queries["seen"], values)
    is_all = sum(row.looked_at for row in rows) < MOST_VIEWS and len(rows) < MOST_ORIGINS
    return {site.id: _activity(site, rows, is_all=is_all) for site in sites}


def _activity(site: Site, origin_rows: Sequence[_Seen], *, is_all: bool) -> SiteActivity:
    own_rows = [row for row in origin_rows if row.origin and is_among(row.origin, site.origins)]
    views = sum(row.views for row in own_rows)
    return SiteActivity(
        max((row.seen_at for row in own_rows), default=None),
        views,
        # If some of the page views are older than a day, the day is complete.
        is_all or any(row.views < row.looked_at for row in origin_rows),
    )
