"""The parameters of the endpoints of forwarding, and what else they read: defined once, for
reading and for the API's description.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from headwater.forwarding.delivery_log import FINISHED, REPLAYABLE, DeliveryFilter, ReplayRequest
from headwater.forwarding.destinations import DELIVERY_STATUSES
from headwater.forwarding.models import SkipReason
from headwater.http.fields import one_of, whole_number
from headwater.http.pagination import CURSOR, Cursors, Position, page_size
from headwater.http.parameters import Input, JsonInput, ListParameter, Parameter

PER_PAGE = page_size(1000)
STATUS = Parameter(
    name="status",
    kind=one_of(DELIVERY_STATUSES),
    description="Only deliveries of this status.",
    blank_is_absent=False,
)
REASON = Parameter(
    name="reason", kind=one_of([str(reason) for reason in SkipReason]),
    description="Only deliveries skipped for this reason.", blank_is_absent=False,
)  # fmt: skip
EVENT_ID = Parameter(
    name="event_id", kind=whole_number(0, 10**18 - 1), description="Only this event's deliveries."
)
LIST_DOCUMENTATION = [each.openapi() for each in (STATUS, REASON, EVENT_ID, PER_PAGE, CURSOR)]

STATUSES = ListParameter(
    name="status", kind=one_of(FINISHED), most=len(FINISHED), default=["failed", "expired"],
    description="Deliveries of these statuses.",
)  # fmt: skip
REASONS = ListParameter(
    name="reason", kind=one_of([str(reason) for reason in REPLAYABLE]), most=len(REPLAYABLE),
    description="Of the skipped ones, those with these reasons only.",
)  # fmt: skip
IDS = ListParameter(
    name="delivery_ids", kind=whole_number(0, 10**18 - 1), most=1000,
    description="Of all these, the deliveries with these ids only.",
)  # fmt: skip
REPLAY_MEMBERS = (STATUSES, REASONS, IDS)


def read_sought(query: Input, destination_id: int) -> DeliveryFilter:
    """Which of a destination's deliveries a query looks for. What is wrong is noted in it."""
    return DeliveryFilter(
        destination_id, EVENT_ID.read(query), STATUS.read(query), REASON.read(query)
    )


def cursors(signing_key: bytes, space_id: int, sought: DeliveryFilter) -> Cursors:
    """The cursors of a list of deliveries."""
    return Cursors(signing_key, space_id, "/deliveries", asdict(sought))


def read_page(query: Input, cursors: Cursors) -> tuple[int, Position | None]:
    """How many rows a query asks for, and from where. Raises Invalid with all it got wrong."""
    per_page = PER_PAGE.read(query) or 0
    at = cursors.read_from(query)
    query.finish()
    return per_page, at


def read_again(body: dict[str, Any]) -> ReplayRequest:
    """Which deliveries a body asks to replay. Raises Invalid."""
    given = {member.name: body[member.name] for member in REPLAY_MEMBERS if member.name in body}
    query = JsonInput(given)
    for name in [name for name, value in given.items() if value is None]:
        query.refuse(name, "must be an array.")
    statuses = STATUSES.read(query)
    reasons = REASONS.read(query) or tuple(str(reason) for reason in REPLAYABLE)
    ids = IDS.read(query) if query.several(IDS.name) else None
    query.finish()
    return ReplayRequest(statuses, reasons, ids)
