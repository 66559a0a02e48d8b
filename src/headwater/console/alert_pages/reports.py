"""Scheduled reports: the list, and the form that a report page opens."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from headwater.alerts.notifications.channels import (
    EMAIL,
    LONGEST_NAME,
    AlertChannel,
    NewChannel,
    create_channel,
    list_channels,
)
from headwater.console.flash import FlashMessage
from headwater.console.report_pages.bar import SHAREABLE
from headwater.console.scheduled_reports.scheduled_reports import (
    KEEPS_PERIOD,
    WEEKDAYS,
    NewReport,
    ScheduledReport,
    change_report,
    choose_query,
    fetch_report,
    list_reports,
    remove_report,
    resume_report,
    schedule_report,
    set_next_time,
)
from headwater.console.visits import PageVisit, Refusal, SentForm, SpacePages, list_form_errors
from headwater.http.errors import Errors
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.audit.kinds import Kind

ROUTES = SpacePages("/alerts/reports")
_CHANGES: Sequence[Kind] = ("scheduled_report", "alert_channel")
_SCHEDULE = SentForm("schedule report", Permission.CHANGE_SETTINGS, once=True, changes=_CHANGES)
_CHANGE = SentForm("change report", Permission.CHANGE_SETTINGS, changes=_CHANGES)
_ME = "me"
"""The recipient whose channel is created when it is first needed."""
_TEXTS = ("report", "name", "page", "query", "cadence", "time", "with_csv")
CADENCES = {
    "daily": ("Every day", ": yesterday's figures"),
    "weekly": ("Every week", ": the last 7 full days"),
    "monthly": ("On the first of each month", ": last month"),
}
_USUAL: dict[str, Any] = {
    "report": "",
    "cadence": "weekly",
    "weekdays": ["0"],
    "time": "08:00",
    "with_csv": "",
}


@ROUTES.page()
async def show_reports(visit: PageVisit) -> Response:
    channels = await list_channels(visit.connection, visit.space.id)
    values: dict[str, Any] = {
        "path": visit.path("/alerts/reports"),
        "channels": channels,
        "reports": await list_reports(visit.connection, visit.space.id),
        "pages": SHAREABLE,
    }
    return visit.render("scheduled_reports.html", values)


@ROUTES.page("/new", Permission.CHANGE_SETTINGS)
async def show_new(visit: PageVisit) -> Response:
    """Show the form for the report page and choices in the address."""
    page, query = (str(visit.query.single(name) or "") for name in ("page", "query"))
    name = SHAREABLE.get(page, "")
    return await _form_page(visit, {"page": page, "query": choose_query(page, query), "name": name})


@ROUTES.page("/{report_id}", Permission.CHANGE_SETTINGS)
async def show_report(visit: PageVisit) -> Response:
    report = await fetch_report(visit.connection, visit.space.id, visit.id("report_id"))
    return await _form_page(visit, _list_form_values(report))


async def _refuse(visit: PageVisit, refusal: Refusal) -> Response:
    typed: dict[str, Any] = visit.typed(*_TEXTS)
    typed |= {name: visit.form.texts(name) for name in ("weekdays", "channels")}
    return await _form_page(visit, typed, list_form_errors(refusal))


@ROUTES.action("/schedule", _SCHEDULE, _refuse)
async def post_schedule(visit: PageVisit) -> FlashMessage:
    new = await _read_form(visit)
    await schedule_report(visit.connection, visit.space, new, datetime.now(UTC))
    return FlashMessage.REPORT_SCHEDULED


@ROUTES.action("/change", _CHANGE, _refuse)
async def post_change(visit: PageVisit) -> FlashMessage:
    report_id, new = visit.form.number("report"), await _read_form(visit)
    await change_report(visit.connection, visit.space, report_id, new, datetime.now(UTC))
    return FlashMessage.REPORT_CHANGED


@ROUTES.action("/pause", SentForm("pause report", Permission.CHANGE_SETTINGS, changes=("scheduled_report",)))
async def post_pause(visit: PageVisit) -> FlashMessage:
    """Pause a report, or resume it."""
    report = await fetch_report(visit.connection, visit.space.id, visit.form.number("report"))
    if visit.form.text("resume") == "yes":
        await resume_report(visit.connection, visit.space, report, datetime.now(UTC))
        return FlashMessage.REPORT_RESUMED
    await set_next_time(visit.connection, visit.space.id, report.id, None)
    return FlashMessage.REPORT_PAUSED


@ROUTES.action("/send", SentForm("send report", Permission.CHANGE_SETTINGS))
async def post_send(visit: PageVisit) -> FlashMessage:
    report = await fetch_report(visit.connection, visit.space.id, visit.form.number("report"))
    if report.next_at is None:
        return FlashMessage.NOTHING_CHANGED
    await set_next_time(visit.connection, visit.space.id, report.id, datetime.now(UTC))
    visit.note(AuditChange("scheduled_report", report.id, after={"sent": True}))
    return FlashMessage.REPORT_SENT


@ROUTES.action(
    "/remove", SentForm("remove report", Permission.CHANGE_SETTINGS, changes=("scheduled_report",))
)
async def post_remove(visit: PageVisit) -> FlashMessage:
    await remove_report(visit.connection, visit.space.id, visit.form.number("report"))
    return FlashMessage.REPORT_REMOVED


async def _form_page(visit: PageVisit, typed: dict[str, Any], errors: Errors | None = None) -> Response:
    channels = await list_channels(visit.connection, visit.space.id)
    sends_mail = visit.services.settings.sends_mail
    own_channel = _find_own(visit, channels)
    if "channels" not in typed:
        typed["channels"] = [str(own_channel.id) if own_channel else _ME] if sends_mail else []
    values: dict[str, Any] = {
        "path": visit.path("/alerts/reports"),
        "channels": channels,
        "me": visit.inside.visitor.user.email if own_channel is None and sends_mail else None,
        "title": SHAREABLE.get(typed["page"]),
        "cadences": {
            name: title if typed["page"] == KEEPS_PERIOD else title + period
            for name, (title, period) in CADENCES.items()
        },
        "weekdays": WEEKDAYS,
        "typed": _USUAL | typed,
        "errors": errors or {},
        "once": visit.once(_SCHEDULE.name),
    }
    return visit.render("scheduled_report.html", values, 422 if errors else 200)


def _list_form_values(report: ScheduledReport) -> dict[str, Any]:
    return {
        "report": str(report.id),
        "name": report.name,
        "page": report.page,
        "query": report.query,
        "cadence": report.cadence,
        "weekdays": [*map(str, report.weekdays)] or _USUAL["weekdays"],
        "time": f"{report.send_at:%H:%M}",
        "with_csv": report.with_csv,
        "channels": [str(channel_id) for channel_id in report.channel_ids],
    }


async def _read_form(visit: PageVisit) -> NewReport:
    form = visit.form
    return NewReport(
        form.text("name"),
        form.text("page"),
        form.text("query"),
        form.text("cadence"),
        form.texts("weekdays"),
        form.text("time"),
        form.text("with_csv") == "yes",
        await _choose_channels(visit),
        visit.user_id,
    )


async def _choose_channels(visit: PageVisit) -> list[int] | None:
    """Return the ids of the chosen channels, or None if one does not exist."""
    channels = await list_channels(visit.connection, visit.space.id)
    channel_texts = visit.form.texts("channels")
    if not set(channel_texts) <= {_ME, *(str(channel.id) for channel in channels)}:
        return None
    channel_ids = [int(text) for text in channel_texts if text != _ME]
    if _ME in channel_texts:
        channel_ids.append(await _provide_own_channel(visit, channels))
    return channel_ids


def _find_own(visit: PageVisit, channels: list[AlertChannel]) -> AlertChannel | None:
    email = visit.inside.visitor.user.email
    return next((channel for channel in channels if channel.address == email), None)


async def _provide_own_channel(visit: PageVisit, channels: list[AlertChannel]) -> int:
    """Return the id of the user's e-mail channel, which gets no alerts if it is new."""
    own_channel, user = _find_own(visit, channels), visit.inside.visitor.user
    if own_channel is not None:
        return own_channel.id
    new = NewChannel(EMAIL, user.display_name[:LONGEST_NAME], user.email, [], user.id)
    channel_id, _ = await create_channel(visit.connection, visit.space.id, new, visit.services.sealing_key)
    return channel_id
