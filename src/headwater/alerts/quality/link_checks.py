"""Tagged links on a site's own pages: they begin no touchpoint, so their tags are lost."""

from __future__ import annotations

from psycopg import AsyncConnection

from headwater.alerts.quality.event_checks import MOST_EXAMPLES
from headwater.alerts.quality.models import Finding, FindingExample, FindingKind, FindingPart
from headwater.database.queries import Queries, fetch_all
from headwater.http.inputs.timerange import TimeRange

queries = Queries(__name__, "links.sql")

MAX_PAGE_VIEWS = 50_000
MAX_PAGES = 10


async def check_own_links(connection: AsyncConnection, space_id: int, period: TimeRange) -> Finding:
    """Return tagged internal links' pages, the most frequent first."""
    values = {
        "space_id": space_id,
        "start": period.start,
        "end": period.end,
        "most": MAX_PAGE_VIEWS,
        "examples": MOST_EXAMPLES,
    }
    rows = await fetch_all(connection, queries["own_links"], values)
    parts = tuple(
        FindingPart(page, count, tuple(FindingExample(url) for url in urls))
        for page, count, urls in rows[:MAX_PAGES]
    )
    return Finding(FindingKind.OWN_TAGGED_LINKS, sum(row[1] for row in rows), parts=parts)
