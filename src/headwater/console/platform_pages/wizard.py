"""Connect an ad platform or change a connection: account, events, test.

A new destination is paused until a user starts it, so nothing is sent before the test.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from headwater.console.flash import FlashMessage
from headwater.console.platform_pages import destination_state as standing
from headwater.console.platform_pages.event_names_form import name_fields, read_names
from headwater.console.platform_pages.settings_form import (
    FieldGroup,
    read_secrets,
    read_settings,
    secret_fields,
    setting_fields,
    worded,
)
from headwater.console.visits import (
    PageVisit,
    Refusal,
    SentForm,
    SpacePages,
    list_form_errors,
    open_visit,
    read_sent_form,
)
from headwater.forwarding.destinations import destinations
from headwater.forwarding.destinations.destination_check import check_destination
from headwater.forwarding.destinations.destinations import DestinationRow
from headwater.forwarding.destinations.event_names import effective, warnings
from headwater.forwarding.destinations.inputs import read_new
from headwater.forwarding.platforms.platform import Platform
from headwater.forwarding.platforms.registry import PLATFORMS
from headwater.http.errors import Errors, Invalid, require_found
from headwater.spaces.accounts.roles import Permission

CONNECTING = "connecting"
"""Query parameter that marks a page as a step of connecting."""
_CONNECT = SentForm(
    "destination", Permission.CHANGE_SETTINGS, once=True, is_dangerous=True, changes=("destination",)
)
_ACCOUNT = SentForm("destination", Permission.CHANGE_SETTINGS, is_dangerous=True, changes=("destination",))
_CHANGE = SentForm("destination", Permission.CHANGE_SETTINGS, changes=("destination",))
_NEW_PAGES = SpacePages("/platforms/connect/{platform}")
_PAGES = SpacePages("/platforms/{destination_id}")
_ACCOUNT_GROUPS = (FieldGroup.ACCOUNT, FieldGroup.ADVANCED)


class Typed(Struct, frozen=True):
    name: str
    settings: dict[str, Any]
    errors: Errors


async def fetch_destination(visit: PageVisit) -> DestinationRow:
    """Raise NotFound if missing."""
    destination_id = visit.id("destination_id")
    return await destinations.fetch_destination(
        visit.connection, visit.space.id, destination_id, most_counted=0
    )


def known_platform(row: DestinationRow) -> Platform:
    """Raise NotFound if this version doesn't have the platform."""
    return require_found(standing.find_platform(row), "Page")


def _is_step(visit: PageVisit) -> bool:
    return CONNECTING in visit.request.query_params


# ------------------------------------------------------------------------------------- account


@_NEW_PAGES.page("", Permission.CHANGE_SETTINGS)
async def show_new(visit: PageVisit) -> Response:
    platform = _named_platform(visit)
    return _account_page(visit, platform, Typed(platform.title, {}, {}))


async def _refuse_new(visit: PageVisit, refusal: Refusal) -> Response:
    platform = _named_platform(visit)
    settings = read_settings(visit.form, platform, {}, _ACCOUNT_GROUPS)
    return _account_page(visit, platform, Typed(visit.form.text("name"), settings, list_form_errors(refusal)))


@_NEW_PAGES.action("", _CONNECT, _refuse_new)
async def post_new(visit: PageVisit) -> Response:
    platform = _named_platform(visit)
    body: dict[str, Any] = {
        "platform": platform.name,
        "name": visit.form.text("name"),
        "settings": read_settings(visit.form, platform, {}, _ACCOUNT_GROUPS),
        "secrets": read_secrets(visit.form, platform),
    }
    new, key = read_new(body, as_text=True), visit.services.sealing_key
    row = await destinations.create_destination(visit.connection, visit.space.id, new, key)
    await destinations.pause_destination(visit.connection, visit.space.id, row.id)
    return visit.redirect(f"/platforms/{row.id}/events?{CONNECTING}")


@_PAGES.page("/settings", Permission.CHANGE_SETTINGS)
async def show_account(visit: PageVisit) -> Response:
    row = await fetch_destination(visit)
    return _account_page(visit, known_platform(row), Typed(row.name, row.settings, {}), row)


async def _refuse_account(visit: PageVisit, refusal: Refusal) -> Response:
    row = await fetch_destination(visit)
    platform = known_platform(row)
    settings = read_settings(visit.form, platform, row.settings, _ACCOUNT_GROUPS)
    typed = Typed(visit.form.text("name"), settings, list_form_errors(refusal))
    return _account_page(visit, platform, typed, row)


@_PAGES.action("/settings", _ACCOUNT, _refuse_account)
async def post_account(visit: PageVisit) -> Response:
    """Change name, settings and tokens; an empty token field keeps the stored one."""
    row = await fetch_destination(visit)
    platform = known_platform(row)
    settings = read_settings(visit.form, platform, row.settings, _ACCOUNT_GROUPS)
    body: dict[str, Any] = {"name": visit.form.text("name")}
    if _differ(settings, row.settings):
        body["settings"] = settings
    if secrets := read_secrets(visit.form, platform):
        body["secrets"] = secrets
    await _change(visit, row, body)
    return _redirect_next(visit, row, "events")


async def _change(visit: PageVisit, row: DestinationRow, body: dict[str, Any]) -> None:
    key = visit.services.sealing_key
    await destinations.change_destination(visit.connection, visit.space.id, row.id, body, key, as_text=True)


def _differ(settings: dict[str, Any], stored_settings: dict[str, Any]) -> bool:
    """Compare settings. Equal ones aren't written because a change clears the last test."""
    return any(
        str("" if value is None else value)
        != str("" if stored_settings.get(name) is None else stored_settings[name])
        for name, value in settings.items()
    )


def _named_platform(visit: PageVisit) -> Platform:
    return require_found(PLATFORMS.get(visit.request.path_params["platform"]), "Page")


def _account_page(
    visit: PageVisit, platform: Platform, typed: Typed, row: DestinationRow | None = None
) -> Response:
    fields = setting_fields(platform, typed.settings)
    values: dict[str, Any] = {
        "platform": platform,
        "row": row,
        "name": typed.name,
        "errors": worded(typed.errors),
        "needed": [field for field in fields if field.group is FieldGroup.ACCOUNT],
        "advanced": [field for field in fields if field.group is FieldGroup.ADVANCED],
        "secrets": secret_fields(platform),
        "base": visit.path("/platforms"),
        "is_step": row is None or _is_step(visit),
        "connecting": CONNECTING,
        "once": visit.once(_CONNECT.name) if row is None else None,
    }
    return visit.render("platform_account.html", values, 422 if typed.errors else 200)


# -------------------------------------------------------------------------------------- events


@_PAGES.page("/events", Permission.CHANGE_SETTINGS)
async def show_events(visit: PageVisit) -> Response:
    return _events_page(visit, await fetch_destination(visit), {})


async def _refuse_events(visit: PageVisit, refusal: Refusal) -> Response:
    return _events_page(
        visit, _typed_events(visit, await fetch_destination(visit)), list_form_errors(refusal)
    )


@_PAGES.action("/events", _CHANGE, _refuse_events)
async def post_events(visit: PageVisit) -> Response:
    row = await fetch_destination(visit)
    typed = _typed_events(visit, row)
    body: dict[str, Any] = {"all_events": typed.all_events}
    if typed.event_names != row.event_names:
        body["event_names"] = typed.event_names
    if _differ(typed.settings, row.settings):
        body["settings"] = typed.settings
    await _change(visit, row, body)
    return _redirect_next(visit, row, "test")


def _typed_events(visit: PageVisit, row: DestinationRow) -> DestinationRow:
    form, platform = visit.form, known_platform(row)
    return replace(
        row,
        event_names=read_names(form, platform, row.event_names, visit.space.event_labels),
        settings=read_settings(form, platform, row.settings, [FieldGroup.CONDITION]),
        all_events=form.text("all_events") == "yes",
    )


def _events_page(visit: PageVisit, row: DestinationRow, errors: Errors) -> Response:
    platform, labels = known_platform(row), visit.space.event_labels
    fields = setting_fields(platform, row.settings)
    values: dict[str, Any] = {
        "platform": platform,
        "row": row,
        "names": name_fields(platform, row.event_names, labels),
        "errors": worded(errors),
        "warnings": warnings(platform, effective(platform, row.event_names, labels)),
        "conditions": [field for field in fields if field.group is FieldGroup.CONDITION],
        "base": visit.path("/platforms"),
        "is_step": _is_step(visit),
        "connecting": CONNECTING,
    }
    return visit.render("platform_events.html", values, 422 if errors else 200)


# ---------------------------------------------------------------------------------------- test


@_PAGES.page("/test", Permission.CHANGE_SETTINGS)
async def show_test(visit: PageVisit) -> Response:
    row = await fetch_destination(visit)
    platform = known_platform(row)
    values: dict[str, Any] = {
        "platform": platform,
        "row": row,
        "base": visit.path("/platforms"),
        "lacks_code": platform.test_code is not None and not row.settings.get(platform.test_code),
        "is_step": _is_step(visit),
        "connecting": CONNECTING,
    }
    return visit.render("platform_test.html", values)


async def post_test(request: Request) -> Response:
    """Send a test event that doesn't count. No transaction is open while sending."""
    form = await read_sent_form(request, _CHANGE)
    async with open_visit(request, _CHANGE, form) as visit:
        row, shared = await fetch_destination(visit), visit.services
    try:
        await check_destination(
            shared.database.transaction,
            shared.egress,
            (visit.space.id, row.id),
            shared.settings,
            shared.sealing_key,
        )
    except Invalid:  # its tokens can no longer be decrypted
        return visit.redirect(f"/platforms/{row.id}/settings", FlashMessage.TOKENS_UNREADABLE)
    step = f"?{CONNECTING}" if _is_step(visit) else ""
    return visit.redirect(f"/platforms/{row.id}/test{step}")


_PAGES.add("/test", post_test, "POST")


def _redirect_next(visit: PageVisit, row: DestinationRow, step: str) -> Response:
    if _is_step(visit):
        return visit.redirect(f"/platforms/{row.id}/{step}?{CONNECTING}")
    return visit.redirect(f"/platforms/{row.id}", FlashMessage.SETTINGS_SAVED)


ROUTES = [*_NEW_PAGES, *_PAGES]
