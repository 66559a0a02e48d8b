"""API keys."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from headwater.console.flash import FlashMessage
from headwater.console.forms import without_keys
from headwater.console.list_page import PER_PAGE, read_list_page
from headwater.console.visits import (
    PageVisit,
    Refusal,
    SentForm,
    SpacePages,
    list_form_errors,
    read_form_problem,
)
from headwater.http.errors import Invalid, join_rules
from headwater.spaces.accounts.members import list_members
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.key_limits import DEFAULT_OVERLAP, read_addresses, read_lifetime, read_overlap
from headwater.spaces.keys import (
    EXPIRY_NOTICE,
    SCOPES,
    KeyLimits,
    create_key,
    list_keys,
    restrict_key,
    revoke_key,
    rotate_key,
)

ROUTES = SpacePages("/keys")
_CREATE = SentForm("create key", Permission.MANAGE_KEYS, once=True, is_dangerous=True, changes=("api_key",))
_ROTATE = SentForm("rotate key", Permission.MANAGE_KEYS, once=True, is_dangerous=True, changes=("api_key",))

LIFETIMES = {"": "never", "30d": "after 30 days", "90d": "after 90 days", "365d": "after a year"}
OVERLAPS = {"0h": "not at all", "1h": "1 hour", DEFAULT_OVERLAP: "24 hours", "7d": "7 days", "30d": "30 days"}

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
async def show_keys(visit: PageVisit, status: int = 200, **values: Any) -> Response:
    current_time = datetime.now(UTC)
    keys = await list_keys(visit.connection, visit.space.id)
    ends = {key.id: ended_at for key in keys if (ended_at := key.find_end(current_time)) is not None}
    ended_keys = [key for key in keys if key.id in ends]
    members = await list_members(visit.connection, visit.space.id)
    common: dict[str, Any] = {
        "keys": read_list_page(
            visit.request, (key for key in keys if key.id not in ends), lambda key: key.name
        ),
        "ended": ended_keys[: -PER_PAGE - 1 : -1],
        "ended_before": len(ended_keys) - PER_PAGE,
        "ends": ends,
        "soon": current_time + EXPIRY_NOTICE,
        "lifetimes": LIFETIMES,
        "overlaps": OVERLAPS,
        "default_overlap": DEFAULT_OVERLAP,
        "scopes": {scope: SCOPE_DESCRIPTIONS[scope] for scope in SCOPES},
        "chosen": list(SCOPES),
        "name": "",
        "expires": "",
        "addresses": "",
        "restricted": {},
        "restricted_errors": {},
        "made": None,
        "problem": None,
        "makers": {member.user_id: member.display_name for member in members},
        "once": visit.once(_CREATE.name),
        "once_to_rotate": visit.once(_ROTATE.name),
        "base_url": visit.services.base_url,
    }
    return visit.render("keys.html", common | values, status)


async def _refuse(visit: PageVisit, refusal: Refusal) -> Response:
    typed = visit.typed("name", "expires", "addresses")
    selected_scopes, errors = visit.form.texts("scope"), without_keys(list_form_errors(refusal))
    return await show_keys(visit, refusal.status, **typed, chosen=selected_scopes, errors=errors)


@ROUTES.action("/create", _CREATE, _refuse)
async def post_create(visit: PageVisit) -> Response:
    """Show the new key once."""
    name, scopes = visit.form.text("name"), visit.form.texts("scope")
    if not scopes:
        raise Invalid.of("scope", "must be selected, because a key without scopes can't do anything.")
    limits = KeyLimits(
        read_lifetime(visit.form.text("expires")), read_addresses(visit.form.text("addresses"))
    )
    key, stored_key = await create_key(visit.connection, visit.space.id, name, scopes, visit.user_id, limits)
    return await show_keys(visit, made={"key": key, "name": stored_key.name, "old_ends_at": None})


async def _refuse_change(visit: PageVisit, refusal: Refusal) -> Response:
    problem = read_form_problem(refusal) or join_rules(list_form_errors(refusal))
    return await show_keys(visit, refusal.status, problem=problem)


@ROUTES.action("/rotate", _ROTATE, _refuse_change, _refuse_change)
async def post_rotate(visit: PageVisit) -> Response:
    """Show the key that replaces another, once."""
    number, overlap = visit.form.number("key"), read_overlap(visit.form.text("overlap"))
    rotation = await rotate_key(visit.connection, visit.space.id, number, overlap, visit.user_id)
    key, stored_key, ends_at = rotation
    return await show_keys(visit, made={"key": key, "name": stored_key.name, "old_ends_at": ends_at})


async def _refuse_addresses(visit: PageVisit, refusal: Refusal) -> Response:
    """Keep the chosen key: another one would get the addresses of the next attempt."""
    typed = visit.typed("key", "addresses")
    return await show_keys(
        visit, refusal.status, restricted=typed, restricted_errors=list_form_errors(refusal)
    )


@ROUTES.action(
    "/restrict",
    SentForm("restrict key", Permission.MANAGE_KEYS, is_dangerous=True, changes=("api_key",)),
    _refuse_addresses,
)
async def post_restrict(visit: PageVisit) -> FlashMessage:
    addresses = read_addresses(visit.form.text("addresses"))
    await restrict_key(visit.connection, visit.space.id, visit.form.number("key"), addresses)
    return FlashMessage.KEY_RESTRICTED


@ROUTES.action(
    "/revoke", SentForm("revoke key", Permission.MANAGE_KEYS, is_dangerous=True, changes=("api_key",))
)
async def post_revoke(visit: PageVisit) -> FlashMessage:
    await revoke_key(visit.connection, visit.space.id, visit.form.number("key"))
    return FlashMessage.KEY_REVOKED
