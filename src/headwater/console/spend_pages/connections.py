"""Every way that spend arrives: connected accounts, and the platforms that can be connected."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from headwater.console.spend_pages import connection_state
from headwater.console.visits import PageVisit, SpacePages
from headwater.spend.connections.connections import list_connections
from headwater.spend.platforms.registry import PLATFORMS
from headwater.spend.scripts.editors import SCRIPTS

ROUTES = SpacePages("/spend/connections")


@ROUTES.page()
async def show_connections(visit: PageVisit) -> Response:
    values: dict[str, Any] = {
        "rows": await list_connections(visit.connection, visit.space.id),
        "platforms": PLATFORMS,
        "scripts": SCRIPTS,
        "state": connection_state,
        "base": visit.path("/spend/connections"),
        "space_path": visit.path(),
    }
    return visit.render("spend_connections.html", values)
