"""Scripts for the script editors of Google Ads and Microsoft Advertising. They send spend with a key that can
do nothing else, and need no API access.
"""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from headwater.console.visits import PageVisit, SentForm, SpacePages
from headwater.http.errors import require_found
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.keys import create_key
from headwater.spend.scripts.editors import SCRIPTS, AdScript, write_script

ROUTES = SpacePages("/spend/connections/script/{platform}")
_CREATE = SentForm("spend script", Permission.MANAGE_KEYS, once=True, is_dangerous=True, changes=("api_key",))
_SCOPE = "spend:write"


@ROUTES.page("", Permission.MANAGE_KEYS)
async def show_script(visit: PageVisit) -> Response:
    return _render(visit, None)


@ROUTES.action("", _CREATE)
async def post_script(visit: PageVisit) -> Response:
    """Create a key, and show the script with it once."""
    name = f"Script for {_find_script(visit).title}"
    key, _ = await create_key(visit.connection, visit.space.id, name, [_SCOPE], visit.user_id)
    return _render(visit, key)


def _render(visit: PageVisit, key: str | None) -> Response:
    script = _find_script(visit)
    values: dict[str, Any] = {
        "script": script,
        "text": None if key is None else write_script(script, visit.services.base_url, key),
        "base": visit.path("/spend/connections"),
        "keys_path": visit.path("/keys"),
        "here": visit.path(f"/spend/connections/script/{visit.request.path_params['platform']}"),
        "once": visit.once(_CREATE.name),
    }
    return visit.render("spend_script.html", values)


def _find_script(visit: PageVisit) -> AdScript:
    return require_found(SCRIPTS.get(visit.request.path_params["platform"]), "Page")
