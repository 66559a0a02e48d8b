"""API keys."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from headwater.console.flash import FlashMessage
from headwater.console.list_page import PER_PAGE, read_list_page
from headwater.console.visits import PageVisit, Refusal, SentForm, SpacePages, list_form_errors
from headwater.http.errors import Invalid
from headwater.spaces.accounts.members import list_members
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.keys import SCOPES, create_key, list_keys, revoke_key

ROUTES = SpacePages("/keys")
_CREATE = SentForm("create key", Permission.MANAGE_KEYS, once=True)

SCOPE_DESCRIPTIONS = {
    "events:read": "read events and their sources",
    "events:write": "send, change and delete events",
    "contacts:read": "read contacts",
    "contacts:write": "create and change contacts",
    "contacts:delete": "erase people",
    "companies:read": "read companies",
    "companies:write": "change companies",
    "exports:read": "download exports",
    "exports:write": "create exports",
    "destinations:read": "see connected ad platforms and deliveries",
    "destinations:write": "connect, change and remove ad platforms",
    "reports:read": "read reports, attribution and journeys",
    "spend:write": "store and delete ad spend",
}


@ROUTES.page()
async def show_keys(visit: PageVisit) -> Response:
    return await _page(visit)


async def _refuse(visit: PageVisit, refusal: Refusal) -> Response:
    selected = visit.form.texts("scope")
    errors = list_form_errors(refusal)
    return await _page(visit, refusal.status, name=visit.form.text("name"), chosen=selected, errors=errors)


@ROUTES.action("/create", _CREATE, _refuse)
async def post_create(visit: PageVisit) -> Response:
    """Show the new key once."""
    name, scopes = visit.form.text("name"), visit.form.texts("scope")
    if not scopes:
        raise Invalid.of("scope", "must be selected, because a key without scopes can't do anything.")
    key, stored = await create_key(visit.connection, visit.space.id, name, scopes, visit.user_id)
    await visit.spend()
    return await _page(visit, made={"key": key, "name": stored.name})


@ROUTES.action("/revoke", SentForm("revoke key", Permission.MANAGE_KEYS))
async def post_revoke(visit: PageVisit) -> FlashMessage:
    await revoke_key(visit.connection, visit.space.id, visit.form.number("key"))
    return FlashMessage.KEY_REVOKED


async def _page(visit: PageVisit, status: int = 200, **values: Any) -> Response:
    keys = await list_keys(visit.connection, visit.space.id)
    revoked = [key for key in keys if key.revoked_at is not None]
    members = await list_members(visit.connection, visit.space.id)
    common: dict[str, Any] = {
        "keys": read_list_page(
            visit.request, (key for key in keys if key.revoked_at is None), lambda key: key.name
        ),
        "revoked": revoked[: -PER_PAGE - 1 : -1],
        "revoked_before": len(revoked) - PER_PAGE,
        "scopes": {scope: SCOPE_DESCRIPTIONS[scope] for scope in SCOPES},
        "chosen": list(SCOPES),
        "name": "",
        "made": None,
        "makers": {member.user_id: member.display_name for member in members},
        "once": visit.once(_CREATE.name),
        "base_url": visit.services.base_url,
    }
    return visit.render("keys.html", common | values, status)
