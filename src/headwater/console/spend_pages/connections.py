"""Every way that spend arrives: connected accounts, watched addresses, and platforms to connect."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from headwater.console.order_pages.upload import KINDS_IN_WORDS
from headwater.console.spend_pages import connection_state
from headwater.console.visits import PageVisit, SpacePages
from headwater.intake.watched.watched_files import list_watched_files
from headwater.spend.connections.connections import list_connections
from headwater.spend.platforms.registry import PLATFORMS
from headwater.spend.scripts.editors import SCRIPTS

ROUTES = SpacePages("/spend/connections")


@ROUTES.page()
async def show_connections(visit: PageVisit) -> Response:
    values: dict[str, Any] = {
        "rows": await list_connections(visit.connection, visit.space.id),
        "watched": await list_watched_files(visit.connection, visit.space.id),
        "kinds": KINDS_IN_WORDS,
        "platforms": PLATFORMS,
        "scripts": SCRIPTS,
        "state": connection_state,
        "base": visit.path("/spend/connections"),
        "space_path": visit.path(),
    }
    return visit.render("spend_connections.html", values)
