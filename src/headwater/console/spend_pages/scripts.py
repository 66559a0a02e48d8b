"""Scripts for the script editors of Google Ads and Microsoft Advertising. They send spend with a key that can
do nothing else, and need no API access.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any, NamedTuple

from starlette.responses import Response

from headwater.console.visits import PageVisit, SentForm, SpacePages
from headwater.http.errors import NotFound
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.keys import create_key

ROUTES = SpacePages("/spend/connections/script/{platform}")
_CREATE = SentForm("spend script", Permission.MANAGE_KEYS, once=True)
_SCOPE = "spend:write"
_SENDING = "sending_script.js"
"""The end of each script."""


class AdScript(NamedTuple):
    title: str
    file: str
    steps: tuple[str, ...]


SCRIPTS = {
    "google": AdScript(
        "Google Ads",
        "google_script.js",
        (
            "In Google Ads, open Tools, Bulk actions, Scripts, and choose + New script.",
            "Delete what is there, paste the script below, and save it as “Headwater spend”.",
            "Choose Authorize, allow access, then Run. The log says how many rows are sent.",
            "In the list of scripts, set the frequency to Hourly.",
        ),
    ),
    "microsoft": AdScript(
        "Microsoft Advertising",
        "microsoft_script.js",
        (
            "In Microsoft Advertising, open Tools, Bulk operations, Scripts, and choose Create script.",
            "Delete what is there, paste the script below, and save it as “Headwater spend”.",
            "Authorize it and choose Run now. The log says how many rows are sent.",
            "In the list of scripts, set the frequency to Daily.",
        ),
    ),
}


@ROUTES.page("", Permission.MANAGE_KEYS)
async def show_script(visit: PageVisit) -> Response:
    return _render(visit, None)


@ROUTES.action("", _CREATE)
async def post_script(visit: PageVisit) -> Response:
    """Create a key, and show the script with it once."""
    name = f"Script for {_find_script(visit).title}"
    key, _ = await create_key(visit.connection, visit.space.id, name, [_SCOPE], visit.user_id)
    await visit.spend()
    return _render(visit, key)


def _render(visit: PageVisit, key: str | None) -> Response:
    script = _find_script(visit)
    values: dict[str, Any] = {
        "script": script,
        "text": None if key is None else _fill(script, visit.services.base_url, key),
        "base": visit.path("/spend/connections"),
        "keys_path": visit.path("/keys"),
        "here": visit.path(f"/spend/connections/script/{visit.request.path_params['platform']}"),
        "once": visit.once(_CREATE.name),
    }
    return visit.render("spend_script.html", values)


def _find_script(visit: PageVisit) -> AdScript:
    script = SCRIPTS.get(visit.request.path_params["platform"])
    if script is None:
        raise NotFound("Page")
    return script


def _fill(script: AdScript, base_url: str, key: str) -> str:
    folder = files("headwater.console.spend_pages")
    text = "\n".join(folder.joinpath(name).read_text("utf-8") for name in (script.file, _SENDING))
    return text.replace("{address}", f"{base_url}/public-api/v1/spend").replace("{key}", key)
