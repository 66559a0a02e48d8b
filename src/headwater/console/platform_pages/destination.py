"""The page of one destination: its state, what became of events there and what helps, and how it
is set up; paused, resumed and removed here.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm, read_form
from headwater.console.pages import redirect, render
from headwater.console.platform_pages import destination_state as standing
from headwater.console.platform_pages.outcome_days import OUTCOMES, read_outcome_days
from headwater.console.platform_pages.settings_form import FieldGroup, setting_fields
from headwater.console.platform_pages.wizard import base_of, enter_destination
from headwater.console.visitor import HOME, SpaceVisitor, require_visitor
from headwater.endpoints.services import services
from headwater.forwarding.deliveries import delivery_log
from headwater.forwarding.deliveries.delivery_counts import (
    MOST_COUNTED,
    MOST_DAYS,
    count_causes,
    count_waiting,
    find_span,
)
from headwater.forwarding.deliveries.delivery_log import MOST_REPLAYED, REPLAYABLE, DeliveryFilter
from headwater.forwarding.deliveries.parameters import REASON, STATUS, read_replay
from headwater.forwarding.deliveries.reasons import REASONS, STATUSES
from headwater.forwarding.deliveries.removal import remove_destination
from headwater.forwarding.destinations import destinations
from headwater.forwarding.destinations.destinations import DestinationRow
from headwater.forwarding.destinations.event_names import effective
from headwater.http.errors import Invalid
from headwater.http.inputs.fields import written
from headwater.http.inputs.pagination import Cursors, Position
from headwater.http.inputs.parameters import Parameter, Query
from headwater.http.inputs.timerange import TimeRange, parse_day, whole_days
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.models import Space

PER_PAGE = 25
FORM = "destination state"
Action = Callable[[AsyncConnection, int, int, PostedForm], Awaitable[FlashMessage]]

_DAY = written({"type": "string", "format": "date"}, parse_day)
FIRST = Parameter(name="from", kind=_DAY, description="The first day of the deliveries.")
LAST = Parameter(name="to", kind=_DAY, description="The last day of the deliveries.")


@dataclass(frozen=True)
class DeliveryChoice:
    """The deliveries that an address names."""

    status: str | None = None
    reason: str | None = None
    first: date | None = None
    last: date | None = None

    def pairs(self, **changes: Any) -> list[tuple[str, str]]:
        """Return the parameters of the address, with changes."""
        values = {"status": self.status, "reason": self.reason, "from": self.first, "to": self.last}
        values |= changes
        return [(name, str(value)) for name, value in values.items() if value is not None]

    def link(self, path: str, **changes: Any) -> str:
        """Return the address of such deliveries on a page."""
        pairs = self.pairs(**changes)
        return f"{path}?{urlencode(pairs)}#deliveries" if pairs else f"{path}#deliveries"


async def show_destination(request: Request) -> Response:
    """Show one destination."""
    shared = services(request)
    async with shared.database.transaction() as connection:
        inside, row = await enter_destination(connection, request)
        space, key = inside.space, shared.signing_key
        problem, choice, at = None, DeliveryChoice(), None
        try:
            choice, at = _read_choice(request, space, key, row.id)
        except Invalid as error:
            problem = error
        sought = await _filter(connection, space, row.id, choice)
        page = await delivery_log.list_deliveries(connection, space.id, sought, PER_PAGE, at)
        days = (await read_outcome_days(connection, space, [row.id]))[row.id]
        waiting = (await count_waiting(connection, space.id, [row.id]))[row.id]
        causes = await count_causes(connection, space.id, row.id)
    cursors = _cursors(key, space.id, row.id, choice)
    path = f"{base_of(inside)}/{row.id}"

    def turned(position: Position | None) -> str | None:
        return choice.link(path, cursor=cursors.write(position)) if position else None

    return render(
        request,
        "destination.html",
        status=problem.status if problem else 200,
        problem=problem,
        row=row,
        days=days,
        waiting=waiting,
        causes=causes,
        choice=choice,
        destination_path=path,
        deliveries=[_read(line) for line in page.lines],
        older=turned(page.next),
        newer=turned(page.previous),
        base=base_of(inside),
        outcomes=OUTCOMES,
        statuses=STATUSES,
        skipped=REASONS,
        replayable=REPLAYABLE,
        most=MOST_COUNTED,
        most_replayed=MOST_REPLAYED,
        standing=standing,
        moment=datetime.fromisoformat,
        **_setup(row, space),
    )


def _setup(row: DestinationRow, space: Space) -> dict[str, Any]:
    """Return what a page shows of how a destination is set up."""
    platform = standing.platform_of(row)
    if platform is None:
        return {"platform": None, "settings": [], "sent": [], "unsent": []}
    fields = setting_fields(platform, row.settings)
    names = effective(platform, row.event_names, space.event_labels)
    return {
        "platform": platform,
        "settings": [each for each in fields if each.value and each.group is not FieldGroup.ADVANCED],
        "sent": [name for name in names if name.sent_as],
        "unsent": [name for name in names if not name.sent_as],
    }


def _read(line: str) -> dict[str, Any]:
    delivery: dict[str, Any] = json.loads(line)
    for name in ("due_at", "created_at", "finished_at"):
        delivery[name] = datetime.fromisoformat(delivery[name]) if delivery[name] else None
    return delivery


def _read_choice(
    request: Request, space: Space, key: bytes, destination_id: int
) -> tuple[DeliveryChoice, Position | None]:
    """Return the deliveries that the address names, and the place in them. Raises Invalid."""
    query = Query(request.scope["query_string"])
    choice = DeliveryChoice(STATUS.read(query), REASON.read(query), FIRST.read(query), LAST.read(query))
    today = datetime.now(UTC).astimezone(space.zone).date()
    earliest = today - timedelta(days=MOST_DAYS - 1)
    if bool(choice.first) != bool(choice.last):
        query.refuse(LAST.name if choice.first else FIRST.name, "must be there, too.")
    elif choice.first and choice.last and not earliest <= choice.first <= choice.last:
        query.refuse(FIRST.name, f"must be one of the last {MOST_DAYS} days, and not after `to`.")
    at = _cursors(key, space.id, destination_id, choice).read_from(query)
    query.finish()
    return choice, at


def _cursors(key: bytes, space_id: int, destination_id: int, choice: DeliveryChoice) -> Cursors:
    return Cursors(key, space_id, f"/console/platforms/{destination_id}", choice.pairs())


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


def changing(act: Action, end: str = "") -> Callable[[Request], Awaitable[Response]]:
    """Return the handler of a form that does something to a destination, and leads to the
    destination, or to `end` below all of them.
    """

    async def post(request: Request) -> Response:
        visitor = await require_visitor(request)
        form = await read_form(request, visitor.form_key, FORM)
        async with services(request).database.transaction() as connection:
            inside, row = await enter_destination(connection, request, Permission.CHANGE_SETTINGS)
            message = await act(connection, inside.space.id, row.id, form)
        return redirect(request, _after(inside, row, end), message)

    return post


def _after(inside: SpaceVisitor, row: DestinationRow, end: str) -> str:
    return base_of(inside) if end else f"{base_of(inside)}/{row.id}"


async def _pause(
    connection: AsyncConnection, space_id: int, destination_id: int, _form: PostedForm
) -> FlashMessage:
    await destinations.pause_destination(connection, space_id, destination_id)
    return FlashMessage.DESTINATION_PAUSED


async def _resume(
    connection: AsyncConnection, space_id: int, destination_id: int, _form: PostedForm
) -> FlashMessage:
    await destinations.resume_destination(connection, space_id, destination_id)
    return FlashMessage.DESTINATION_RESUMED


async def _remove(
    connection: AsyncConnection, space_id: int, destination_id: int, _form: PostedForm
) -> FlashMessage:
    await remove_destination(connection, space_id, destination_id)
    return FlashMessage.DESTINATION_REMOVED


async def _replay(
    connection: AsyncConnection, space_id: int, destination_id: int, form: PostedForm
) -> FlashMessage:
    """Queue what the form names once more: one delivery, or all of a status or a reason."""
    body: dict[str, Any] = {"status": [form.text("status")]}
    if form.text("reason"):
        body["reason"] = [form.text("reason")]
    if form.text("delivery"):
        body["delivery_ids"] = [form.number("delivery")]
    result = await delivery_log.replay(connection, space_id, destination_id, read_replay(body))
    if result.queued:
        return FlashMessage.DELIVERIES_REPLAYED_IN_PART if result.more else FlashMessage.DELIVERIES_REPLAYED
    return FlashMessage.DELIVERIES_TOO_OLD if result.too_old else FlashMessage.NOTHING_CHANGED


_PATH = f"{HOME}/spaces/{{space_id}}/platforms/{{destination_id}}"
ROUTES = [
    Route(_PATH, show_destination, methods=["GET"]),
    Route(f"{_PATH}/pause", changing(_pause), methods=["POST"]),
    Route(f"{_PATH}/resume", changing(_resume), methods=["POST"]),
    Route(f"{_PATH}/replay", changing(_replay), methods=["POST"]),
    Route(f"{_PATH}/remove", changing(_remove, "platforms"), methods=["POST"]),
]
