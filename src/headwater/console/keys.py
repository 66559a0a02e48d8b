"""The page of a Space's API keys: made, shown once, revoked."""

from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.flash import FlashMessage
from headwater.console.forms import once_token, read_form, read_form_once, spend
from headwater.console.list_page import PER_PAGE, read_list_page
from headwater.console.pages import hidden_token, redirect, render
from headwater.console.visitor import HOME, SpaceVisitor, enter, read_space_id, require_visitor
from headwater.endpoints.services import services
from headwater.http.errors import Invalid
from headwater.spaces.accounts.members import list_members
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.keys import SCOPES, create_key, list_keys, revoke_key

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
    "destinations:read": "see destinations (ad platforms) and their deliveries",
    "destinations:write": "create, change and remove destinations",
    "reports:read": "read reports, attribution and journeys",
    "spend:write": "store and delete what ads have cost",
}


async def show_keys(request: Request) -> Response:
    """Show the keys."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        return await _page(connection, request, inside)


async def post_create(request: Request) -> Response:
    """Make a key, which is shown this once."""
    visitor = await require_visitor(request)
    form = await read_form_once(request, visitor.form_key, "create key")
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.MANAGE_KEYS)
        name, scopes = form.text("name"), form.texts("scope")
        try:
            if not scopes:
                raise Invalid.of("scope", "must be chosen: a key without any can do nothing.")
            key, stored = await create_key(connection, inside.space.id, name, scopes, inside.visitor.user.id)
        except Invalid as error:
            values: dict[str, Any] = {"name": name, "chosen": scopes, "errors": error.errors}
            return await _page(connection, request, inside, status=422, **values)
        await spend(connection, form)
        made = {"key": key, "name": stored.name}
        return await _page(connection, request, inside, made=made)


async def post_revoke(request: Request) -> Response:
    """Revoke a key at once."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, "revoke key")
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.MANAGE_KEYS)
        await revoke_key(connection, inside.space.id, form.number("key"))
    location = f"{HOME}/spaces/{read_space_id(request)}/keys"
    return redirect(request, location, FlashMessage.KEY_REVOKED)


async def _page(
    connection: AsyncConnection, request: Request, inside: SpaceVisitor, *, status: int = 200, **values: Any
) -> Response:
    keys = await list_keys(connection, inside.space.id)
    revoked = [key for key in keys if key.revoked_at is not None]
    members = await list_members(connection, inside.space.id)
    once = hidden_token(once_token(inside.visitor.form_key, "create key"))
    common: dict[str, Any] = {
        "keys": read_list_page(
            request, (key for key in keys if key.revoked_at is None), lambda key: key.name
        ),
        "revoked": revoked[: -PER_PAGE - 1 : -1],
        "revoked_before": len(revoked) - PER_PAGE,
        "scopes": {scope: SCOPE_DESCRIPTIONS[scope] for scope in SCOPES},
        "chosen": list(SCOPES),
        "name": "",
        "made": None,
        "makers": {member.user_id: member.display_name for member in members},
        "once": once,
        "base_url": services(request).base_url,
    }
    return render(request, "keys.html", status=status, **(common | values))


_PATH = f"{HOME}/spaces/{{space_id}}/keys"
ROUTES = [
    Route(_PATH, show_keys, methods=["GET"]),
    Route(f"{_PATH}/create", post_create, methods=["POST"]),
    Route(f"{_PATH}/revoke", post_revoke, methods=["POST"]),
]
