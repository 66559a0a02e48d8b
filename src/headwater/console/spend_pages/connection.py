"""One connection: what it fetched, what is wrong, and the actions on it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.responses import Response

from headwater.console.flash import FlashMessage
from headwater.console.platform_pages.settings_form import FieldGroup, setting_fields
from headwater.console.spend_pages import connection_state
from headwater.console.visits import PageVisit, SentForm, SpacePages
from headwater.spaces.accounts.roles import Permission
from headwater.spend.connections import connections
from headwater.spend.connections.connections import ConnectionRow
from headwater.spend.connections.reconciliation import read_campaign_gaps, read_unassigned_spend
from headwater.spend.connections.remedies import find_remedy

ROUTES = SpacePages("/spend/connections/{connection_id}")
_FORM = SentForm("spend connection", Permission.CHANGE_SETTINGS, changes=("spend_connection",))
GAP_DAYS = 30
"""The last days, whose campaigns should appear in visits."""


async def fetch_connection(visit: PageVisit) -> ConnectionRow:
    """Raise NotFound if missing."""
    return await connections.fetch_connection(visit.connection, visit.space.id, visit.id("connection_id"))


@ROUTES.page()
async def show_connection(visit: PageVisit) -> Response:
    row = await fetch_connection(visit)
    platform = connection_state.find_platform(row)
    today = datetime.now(UTC).astimezone(visit.space.zone).date()
    days = today - timedelta(days=GAP_DAYS - 1), today
    source = row.platform, row.account_id or ""
    values: dict[str, Any] = {
        "row": row,
        "platform": platform,
        "remedy": find_remedy(row.platform, row.fault),
        "settings": _list_settings(row),
        "gaps": await read_campaign_gaps(visit.connection, visit.space.id, source, days),
        "gap_days": GAP_DAYS,
        "unassigned": await read_unassigned_spend(visit.connection, visit.space.id, source),
        "state": connection_state,
        "base": visit.path("/spend/connections"),
        "space_path": visit.path(),
    }
    return visit.render("spend_connection.html", values)


def _list_settings(row: ConnectionRow) -> list[Any]:
    platform = connection_state.find_platform(row)
    if platform is None:
        return []
    fields = setting_fields(platform, row.settings)
    return [field for field in fields if field.value and field.group is FieldGroup.ACCOUNT]


ROUTES.change("/pull", _FORM, "connection_id", connections.pull_connection, FlashMessage.SPEND_PULLED)
ROUTES.change("/pause", _FORM, "connection_id", connections.pause_connection, FlashMessage.CONNECTION_PAUSED)
ROUTES.change(
    "/resume", _FORM, "connection_id", connections.resume_connection, FlashMessage.CONNECTION_RESUMED
)


@ROUTES.action("/remove", _FORM)
async def post_remove(visit: PageVisit) -> Response:
    await connections.delete_connection(visit.connection, visit.space.id, visit.id("connection_id"))
    return visit.redirect("/spend/connections", FlashMessage.CONNECTION_REMOVED)
