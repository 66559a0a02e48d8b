"""A destination: state, deliveries with remedies, and setup."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct
from psycopg import AsyncConnection
from starlette.responses import Response

from headwater.console.flash import FlashMessage
from headwater.console.platform_pages import destination_state as standing
from headwater.console.platform_pages.outcome_days import OUTCOMES, read_outcome_days
from headwater.console.platform_pages.settings_form import FieldGroup, setting_fields
from headwater.console.platform_pages.wizard import fetch_destination
from headwater.console.visits import PageVisit, SentForm, SpacePages
from headwater.forwarding.deliveries import delivery_log
from headwater.forwarding.deliveries.changes import remove_destination
from headwater.forwarding.deliveries.delivery_counts import (
    MOST_COUNTED,
    MOST_DAYS,
    count_causes,
    count_waiting,
    find_span,
)
from headwater.forwarding.deliveries.delivery_log import MOST_REPLAYED, REPLAYABLE, DeliveryFilter
from headwater.forwarding.deliveries.held_amounts import sum_held_amounts
from headwater.forwarding.deliveries.parameters import REASON, STATUS, read_replay
from headwater.forwarding.deliveries.reasons import REASONS, STATUSES
from headwater.forwarding.destinations import destinations
from headwater.forwarding.destinations.destinations import DestinationRow
from headwater.forwarding.destinations.event_names import effective
from headwater.http.errors import Invalid
from headwater.http.inputs.fields import written
from headwater.http.inputs.pagination import Cursors, Position
from headwater.http.inputs.parameters import Parameter
from headwater.http.inputs.timerange import TimeRange, parse_day, whole_days
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.models import Space

PER_PAGE = 25
ROUTES = SpacePages("/platforms/{destination_id}")
_FORM = SentForm("destination state", Permission.CHANGE_SETTINGS, changes=("destination",))

_DAY = written({"type": "string", "format": "date"}, parse_day)
FIRST = Parameter(name="from", kind=_DAY, description="The first day of the deliveries.")
LAST = Parameter(name="to", kind=_DAY, description="The last day of the deliveries.")


class DeliveryChoice(Struct, frozen=True):
    status: str | None = None
    reason: str | None = None
    first: date | None = None
    last: date | None = None

    def pairs(self, **changes: Any) -> list[tuple[str, str]]:
        values = {"status": self.status, "reason": self.reason, "from": self.first, "to": self.last}
        values |= changes
        return [(name, str(value)) for name, value in values.items() if value is not None]

    def link(self, path: str, **changes: Any) -> str:
        pairs = self.pairs(**changes)
        return f"{path}?{urlencode(pairs)}#deliveries" if pairs else f"{path}#deliveries"


@ROUTES.page()
async def show_destination(visit: PageVisit) -> Response:
    row, connection, space = await fetch_destination(visit), visit.connection, visit.space
    problem, choice, position = None, DeliveryChoice(), None
    try:
        choice, position = _read_choice(visit)
    except Invalid as error:
        problem = error
    delivery_filter = await _filter(connection, space, row.id, choice)
    page = await delivery_log.list_deliveries(connection, space.id, delivery_filter, PER_PAGE, position)
    cursors = _cursors(visit, choice)
    path = visit.path(f"/platforms/{row.id}")

    def turn_to(position: Position | None) -> str | None:
        return choice.link(path, cursor=cursors.write(position)) if position else None

    values: dict[str, Any] = {
        "problem": problem,
        "row": row,
        "days": (await read_outcome_days(connection, space, [row.id]))[row.id],
        "waiting": (await count_waiting(connection, space.id, [row.id]))[row.id],
        "amounts": await sum_held_amounts(connection, space.id, row.id, row.platform),
        "causes": await count_causes(connection, space.id, row.id),
        "choice": choice,
        "destination_path": path,
        "deliveries": [json.loads(line) for line in page.lines],
        "older": turn_to(page.next),
        "newer": turn_to(page.previous),
        "base": visit.path("/platforms"),
        "outcomes": OUTCOMES,
        "statuses": STATUSES,
        "skipped": REASONS,
        "replayable": REPLAYABLE,
        "most": MOST_COUNTED,
        "most_replayed": MOST_REPLAYED,
        "standing": standing,
    }
    return visit.render("destination.html", values | _setup(row, space), problem.status if problem else 200)


def _setup(row: DestinationRow, space: Space) -> dict[str, Any]:
    platform = standing.find_platform(row)
    if platform is None:
        return {"platform": None, "settings": [], "sent": [], "unsent": []}
    fields = setting_fields(platform, row.settings)
    names = effective(platform, row.event_names, space.event_labels)
    return {
        "platform": platform,
        "settings": [field for field in fields if field.value and field.group is not FieldGroup.ADVANCED],
        "sent": [name for name in names if name.sent_as],
        "unsent": [name for name in names if not name.sent_as],
    }


def _read_choice(visit: PageVisit) -> tuple[DeliveryChoice, Position | None]:
    """Raise Invalid for bad input."""
    query, space = visit.query, visit.space
    choice = DeliveryChoice(STATUS.read(query), REASON.read(query), FIRST.read(query), LAST.read(query))
    today = datetime.now(UTC).astimezone(space.zone).date()
    earliest = today - timedelta(days=MOST_DAYS - 1)
    if bool(choice.first) != bool(choice.last):
        query.refuse(LAST.name if choice.first else FIRST.name, "is required too.")
    elif choice.first and choice.last and not earliest <= choice.first <= choice.last:
        query.refuse(FIRST.name, f"must be one of the last {MOST_DAYS} days, and not after `to`.")
    position = _cursors(visit, choice).read_from(query)
    query.finish()
    return choice, position


def _cursors(visit: PageVisit, choice: DeliveryChoice) -> Cursors:
    path = f"/console/platforms/{visit.id('destination_id')}"
    return Cursors(visit.services.signing_key, visit.space.id, path, choice.pairs())


async def _filter(
    connection: AsyncConnection, space: Space, destination_id: int, choice: DeliveryChoice
) -> DeliveryFilter:
    if choice.first is None or choice.last is None:
        return DeliveryFilter(destination_id, status=choice.status, reason=choice.reason)
    days: TimeRange = whole_days(choice.first, choice.last, space.zone)
    first_id, last_id = await find_span(connection, space.id, destination_id, days)
    return DeliveryFilter(
        destination_id,
        status=choice.status,
        reason=choice.reason,
        start=days.start,
        end=days.end,
        first_id=first_id,
        last_id=last_id,
    )


# ------------------------------------------------------------------------------------- actions


ROUTES.change(
    "/pause", _FORM, "destination_id", destinations.pause_destination, FlashMessage.DESTINATION_PAUSED
)
ROUTES.change(
    "/resume", _FORM, "destination_id", destinations.resume_destination, FlashMessage.DESTINATION_RESUMED
)


@ROUTES.action("/remove", _FORM)
async def post_remove(visit: PageVisit) -> Response:
    await remove_destination(visit.connection, visit.space.id, visit.id("destination_id"))
    return visit.redirect("/platforms", FlashMessage.DESTINATION_REMOVED)


@ROUTES.action("/replay", _FORM)
async def post_replay(visit: PageVisit) -> FlashMessage:
    """Queue one, or all with a status or reason."""
    row, form = await fetch_destination(visit), visit.form
    body: dict[str, Any] = {"status": [form.text("status")]}
    if form.text("reason"):
        body["reason"] = [form.text("reason")]
    if form.text("delivery"):
        body["delivery_ids"] = [form.number("delivery")]
    result = await delivery_log.replay(visit.connection, visit.space.id, row.id, read_replay(body))
    if result.queued:
        visit.note(AuditChange("destination", row.id, after={"replayed": result.queued}))
        return FlashMessage.DELIVERIES_REPLAYED_IN_PART if result.more else FlashMessage.DELIVERIES_REPLAYED
    return FlashMessage.DELIVERIES_TOO_OLD if result.too_old else FlashMessage.NOTHING_CHANGED
