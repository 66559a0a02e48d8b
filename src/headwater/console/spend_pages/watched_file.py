"""One watched address: its state, its latest imports, and the actions on it."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from headwater.console.flash import FlashMessage
from headwater.console.order_pages.upload import KINDS_IN_WORDS
from headwater.console.platform_pages.settings_form import make_label
from headwater.console.spend_pages import connection_state
from headwater.console.visits import PageVisit, SentForm, SpacePages
from headwater.intake.imports.jobs import list_watched_jobs
from headwater.intake.watched import watched_files
from headwater.intake.watched.answers import MOST_IMPORTS
from headwater.intake.watched.faults import REMEDIES
from headwater.intake.watched.watched_files import WatchedFileRow
from headwater.spaces.accounts.roles import Permission

ROUTES = SpacePages("/spend/watched/{watched_file_id}")
_FORM = SentForm("watched address state", Permission.CHANGE_SETTINGS, changes=("watched_file",))


async def fetch_file(visit: PageVisit) -> WatchedFileRow:
    """Raise NotFound if missing."""
    return await watched_files.fetch_watched_file(
        visit.connection, visit.space.id, visit.id("watched_file_id")
    )


@ROUTES.page()
async def show_file(visit: PageVisit) -> Response:
    row = await fetch_file(visit)
    values: dict[str, Any] = {
        "row": row,
        "kind": KINDS_IN_WORDS[row.kind],
        "remedy": REMEDIES.get(row.fault or ""),
        "jobs": await list_watched_jobs(visit.connection, visit.space.id, row.id, MOST_IMPORTS),
        "label": make_label,
        "state": connection_state,
        "path": visit.path(f"/spend/watched/{row.id}"),
        "base": visit.path("/spend/connections"),
        "space_path": visit.path(),
    }
    return visit.render("watched_file.html", values)


ROUTES.change("/fetch", _FORM, "watched_file_id", watched_files.fetch_file_now, FlashMessage.ADDRESS_FETCHED)
ROUTES.change(
    "/pause", _FORM, "watched_file_id", watched_files.pause_watched_file, FlashMessage.ADDRESS_PAUSED
)
ROUTES.change(
    "/resume", _FORM, "watched_file_id", watched_files.resume_watched_file, FlashMessage.ADDRESS_RESUMED
)


@ROUTES.action("/remove", _FORM)
async def post_remove(visit: PageVisit) -> Response:
    await watched_files.delete_watched_file(visit.connection, visit.space.id, visit.id("watched_file_id"))
    return visit.redirect("/spend/connections", FlashMessage.ADDRESS_REMOVED)
