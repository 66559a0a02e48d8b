"""Settings that members manage.

The operator sets the subscription and rate limits on the command line. The sources page has the excluded
hosts.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from starlette.responses import Response

from headwater.console.flash import FlashMessage
from headwater.console.forms import read_shown, without_keys, write_shown
from headwater.console.link_pages.source_changes import HOST_LISTS
from headwater.console.scheduled_reports.scheduled_reports import reschedule_reports
from headwater.console.visits import PageVisit, Refusal, SentForm, SpacePages, list_form_errors
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.custom_fields import SLOT_NAMES
from headwater.spaces.models import Space
from headwater.spaces.settings_input import CUSTOM_EVENTS, SETTINGS, read_changes, zone_names
from headwater.spaces.spaces import change_space

ROUTES = SpacePages("/settings")

OPERATORS = ("subscription",)
OFFERED = tuple(key for key in SETTINGS if key not in (*OPERATORS, *HOST_LISTS))


def as_typed(space: Space) -> dict[str, str]:
    typed = {key: _text(getattr(space, key)) for key in OFFERED}
    typed |= {f"event_label.{slot}": space.event_labels.get(slot, "") for slot in CUSTOM_EVENTS}
    typed |= {f"field_label.{slot}": space.field_labels.get(slot, "") for slot in SLOT_NAMES}
    return typed


@ROUTES.page()
async def show_settings(visit: PageVisit) -> Response:
    return _page(visit, {})


async def _refuse(visit: PageVisit, refusal: Refusal) -> Response:
    return _page(visit, _typed(visit), refusal.status, errors=without_keys(list_form_errors(refusal)))


@ROUTES.action(
    "",
    SentForm(
        "settings", Permission.CHANGE_SETTINGS, changes=("space", "event_label", "field_label", "rate_limit")
    ),
    _refuse,
)
async def post_settings(visit: PageVisit) -> FlashMessage:
    before = as_typed(visit.space)
    shown = read_shown(visit.form, before)
    typed = {key: value for key, value in _typed(visit).items() if value != shown.get(key, "")}
    changed_values = {key: value for key, value in typed.items() if value != before[key]}
    changes = read_changes(changed_values)
    if not changed_values:
        return FlashMessage.NOTHING_CHANGED
    if "require_second_factor" in changed_values:
        visit.require_fresh_factor()
    space = await change_space(visit.connection, visit.space.id, changes)
    if "timezone" in changed_values:
        await reschedule_reports(visit.connection, space, datetime.now(UTC))
    return FlashMessage.SETTINGS_SAVED


def _typed(visit: PageVisit) -> dict[str, str]:
    fields = as_typed(visit.space)
    return {key: value.strip() for key, value in visit.form.pairs if key in fields}


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))  # type: ignore[reportUnknownArgumentType]
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        return f"{value:f}"
    return "" if value is None else str(value)


def _page(visit: PageVisit, typed: dict[str, str], status: int = 200, **values: Any) -> Response:
    settings = {key: value for key, value in as_typed(visit.space).items() if value}
    common: dict[str, Any] = {
        "typed": as_typed(visit.space) | typed,
        "shown": write_shown(visit.form, settings),
        "zones": sorted(zone_names()),
        "custom_events": CUSTOM_EVENTS,
        "profile_fields": SLOT_NAMES,
    }
    return visit.render("settings.html", common | values, status)
