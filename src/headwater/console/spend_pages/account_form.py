"""Connect an ad account for spend, or change its settings and tokens. The platform is asked before a new
account is saved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm, spend
from headwater.console.platform_pages.settings_form import (
    FieldGroup,
    read_secrets,
    read_settings,
    secret_fields,
    setting_fields,
    worded,
)
from headwater.console.spend_pages import connection_state
from headwater.console.spend_pages.connection import fetch_connection
from headwater.console.visits import (
    PageVisit,
    Refusal,
    SentForm,
    SpacePages,
    list_form_errors,
    open_visit,
    read_sent_form,
)
from headwater.database.jobs.due_tasks import AccountKey
from headwater.endpoints.services import Services
from headwater.forwarding.destinations.destinations import DestinationRow, lend_secrets, list_destinations
from headwater.http.errors import Errors, Invalid, require_found
from headwater.spaces.accounts.roles import Permission
from headwater.spend.connections import connections
from headwater.spend.connections.check import SpendConnectionCheck, check_credentials
from headwater.spend.connections.connections import ConnectionRow
from headwater.spend.connections.inputs import ConnectionChange, can_lend, read_destination_id, read_new
from headwater.spend.platforms.origins import find_urls
from headwater.spend.platforms.platform import Credentials, SpendPlatform
from headwater.spend.platforms.registry import PLATFORMS

_CONNECT = SentForm(
    "spend account", Permission.CHANGE_SETTINGS, once=True, is_dangerous=True, changes=("spend_connection",)
)
_CHANGE = SentForm(
    "spend account", Permission.CHANGE_SETTINGS, is_dangerous=True, changes=("spend_connection",)
)
_NEW_PAGES = SpacePages("/spend/connections/connect/{platform}")
_PAGES = SpacePages("/spend/connections/{connection_id}")
LENDER = "destination_id"
"""The field for the destination whose token is used; empty for tokens that are typed."""
ANYWAY = "anyway"
"""The field that saves an account that the platform refused."""


class TypedAccount(Struct, frozen=True):
    name: str
    settings: dict[str, Any]
    errors: Errors
    check: SpendConnectionCheck | None = None
    """A check that failed."""
    lender: str | None = None
    """The chosen destination; empty for other tokens, None before a choice."""


@_NEW_PAGES.page("", Permission.CHANGE_SETTINGS)
async def show_new(visit: PageVisit) -> Response:
    platform = _named_platform(visit.request)
    return await _render_new(visit, TypedAccount(platform.title, {}, {}))


async def post_new(request: Request) -> Response:
    """Ask the platform, then save the connection. No transaction is open meanwhile."""
    form = await read_sent_form(request, _CONNECT)
    try:
        async with open_visit(request, _CONNECT, form) as visit:
            platform, change = await _read_new(visit, form)
            credentials = _make_credentials(visit, platform, change)
    except Invalid as refusal:
        async with open_visit(request, _CONNECT, form) as visit:
            platform = _named_platform(request)
            return await _render_new(visit, _read_typed(form, platform, list_form_errors(refusal)))
    check, change = await _check(visit.services, platform, credentials, change)
    async with open_visit(request, _CONNECT, form) as visit:
        if not check.ok and form.text(ANYWAY) != "yes":
            return await _render_new(visit, _read_typed(form, platform, {}, check))
        key = visit.services.sealing_key
        row = await connections.create_connection(visit.connection, visit.space.id, (platform, change), key)
        await spend(visit.connection, form)
        return visit.redirect(f"/spend/connections/{row.id}", FlashMessage.CONNECTION_CREATED)


_NEW_PAGES.add("", post_new, "POST")


async def _read_new(visit: PageVisit, form: PostedForm) -> tuple[SpendPlatform, ConnectionChange]:
    """Typed tokens don't count if a destination lends its own. Raises Invalid."""
    platform, lender = _named_platform(visit.request), form.text(LENDER)
    members: dict[str, Any] = {
        "platform": platform.name,
        "name": form.text("name"),
        "settings": read_settings(form, platform, {}, FieldGroup),
    }
    if not lender:
        return read_new({**members, "secrets": read_secrets(form, platform)}, as_text=True)
    members["destination_id"] = int(lender) if lender.isascii() and lender.isdigit() else lender
    destination_id = read_destination_id(members)
    assert destination_id is not None, "a given one is read or refused"
    key = visit.services.sealing_key
    secrets = await lend_secrets(visit.connection, visit.space.id, destination_id, platform.name, key)
    return read_new(members, secrets, as_text=True)


async def _list_lenders(visit: PageVisit, platform: SpendPlatform) -> list[DestinationRow]:
    """Return destinations whose tokens a new connection can use."""
    rows = await list_destinations(visit.connection, visit.space.id, most_counted=0)
    return [
        row
        for row in rows
        if row.platform == platform.name and row.status != "held" and can_lend(platform, row.secret_names)
    ]


def _make_credentials(visit: PageVisit, platform: SpendPlatform, change: ConnectionChange) -> Credentials:
    secrets = {name: text for name, text in (change.secrets or {}).items() if text is not None}
    return Credentials(
        space_id=visit.space.id,
        id=0,
        url=find_urls(visit.services.settings)[platform.name],
        settings=msgspec.convert(change.settings, platform.settings),
        secrets=secrets,
    )


async def _check(
    shared: Services, platform: SpendPlatform, credentials: Credentials, change: ConnectionChange
) -> tuple[SpendConnectionCheck, ConnectionChange]:
    """Return the check's result, and the account with a refresh token that replaced the given one."""
    secrets = dict(change.secrets or {})

    async def keep_token(_: Credentials, refresh_token: str) -> None:
        secrets["refresh_token"] = refresh_token

    check = await check_credentials(platform, credentials, shared.egress, keep_token)
    return check, replace(change, secrets=secrets)


@_PAGES.page("/settings", Permission.CHANGE_SETTINGS)
async def show_account(visit: PageVisit) -> Response:
    row = await fetch_connection(visit)
    return _render(visit, _stored_platform(row), TypedAccount(row.name, row.settings, {}), row)


async def _refuse_account(visit: PageVisit, refusal: Refusal) -> Response:
    row = await fetch_connection(visit)
    platform = _stored_platform(row)
    typed = _read_typed(visit.form, platform, list_form_errors(refusal), stored_settings=row.settings)
    return _render(visit, platform, typed, row)


@_PAGES.action("/settings", _CHANGE, _refuse_account)
async def post_account(visit: PageVisit) -> Response:
    """Change name, settings and tokens; an empty token field keeps the stored one."""
    row = await fetch_connection(visit)
    platform = _stored_platform(row)
    members: dict[str, Any] = {
        "name": visit.form.text("name"),
        "settings": read_settings(visit.form, platform, row.settings, FieldGroup),
    }
    if secrets := read_secrets(visit.form, platform):
        members["secrets"] = secrets
    key = AccountKey(visit.space.id, row.id)
    sealing_key = visit.services.sealing_key
    await connections.change_connection(visit.connection, key, members, sealing_key, as_text=True)
    return visit.redirect(f"/spend/connections/{row.id}", FlashMessage.SETTINGS_SAVED)


def _read_typed(
    form: PostedForm,
    platform: SpendPlatform,
    errors: Errors,
    check: SpendConnectionCheck | None = None,
    *,
    stored_settings: Mapping[str, Any] = MappingProxyType({}),
) -> TypedAccount:
    settings = read_settings(form, platform, stored_settings, FieldGroup)
    return TypedAccount(form.text("name"), settings, errors, check, form.text(LENDER))


def _named_platform(request: Request) -> SpendPlatform:
    return require_found(PLATFORMS.get(request.path_params["platform"]), "Page")


def _stored_platform(row: ConnectionRow) -> SpendPlatform:
    return require_found(connection_state.find_platform(row), "Page")


async def _render_new(visit: PageVisit, typed: TypedAccount) -> Response:
    platform = _named_platform(visit.request)
    return _render(visit, platform, typed, lenders=await _list_lenders(visit, platform))


def _render(
    visit: PageVisit,
    platform: SpendPlatform,
    typed: TypedAccount,
    row: ConnectionRow | None = None,
    lenders: Sequence[DestinationRow] = (),
) -> Response:
    fields = setting_fields(platform, typed.settings)
    values: dict[str, Any] = {
        "platform": platform,
        "row": row,
        "name": typed.name,
        "errors": worded(typed.errors),
        "check": typed.check,
        "anyway": ANYWAY,
        "needed": [field for field in fields if field.group is FieldGroup.ACCOUNT],
        "advanced": [field for field in fields if field.group is not FieldGroup.ACCOUNT],
        "secrets": secret_fields(platform),
        "lenders": lenders,
        "lender": typed.lender if typed.lender is not None else str(lenders[0].id) if lenders else "",
        "base": visit.path("/spend/connections"),
        "once": visit.once(_CONNECT.name) if row is None else None,
    }
    return visit.render("spend_account.html", values, 422 if typed.errors or typed.check else 200)


ROUTES = [*_NEW_PAGES, *_PAGES]
