from __future__ import annotations

from dataclasses import asdict
from typing import Any

from headwater.forwarding.deliveries.delivery_log import FINISHED, REPLAYABLE, DeliveryFilter, ReplayRequest
from headwater.forwarding.deliveries.reasons import REASONS as REASON_MEANINGS
from headwater.forwarding.destinations.destinations import DELIVERY_STATUSES
from headwater.http.inputs.fields import one_of, whole_number
from headwater.http.inputs.pagination import CURSOR, PER_PAGE, Cursors
from headwater.http.inputs.parameters import Input, JsonInput, ListParameter, Parameter

STATUS = Parameter(
    name="status",
    kind=one_of(DELIVERY_STATUSES),
    description="Only deliveries of this status.",
    blank_is_absent=False,
)
REASON = Parameter(
    name="reason",
    kind=one_of([*REASON_MEANINGS]),
    description="Only deliveries with this reason.",
    blank_is_absent=False,
)
EVENT_ID = Parameter(
    name="event_id", kind=whole_number(0, 10**18 - 1), description="Only this event's deliveries."
)
PREVIEWED_ID = Parameter(
    name="event_id",
    kind=EVENT_ID.kind,
    description="The event; by default the latest that would be sent, preferably a purchase.",
)
LIST_DOCUMENTATION = [parameter.openapi() for parameter in (STATUS, REASON, EVENT_ID, PER_PAGE, CURSOR)]

STATUSES = ListParameter(
    name="status",
    kind=one_of(FINISHED),
    max_values=len(FINISHED),
    default=["failed", "refused", "expired"],
    description="Deliveries of these statuses.",
)
REASONS = ListParameter(
    name="reason",
    kind=one_of(REPLAYABLE),
    max_values=len(REPLAYABLE),
    description="Of the skipped and refused ones, those with these reasons only.",
)
IDS = ListParameter(
    name="delivery_ids",
    kind=whole_number(0, 10**18 - 1),
    max_values=1000,
    description="Of all these, the deliveries with these ids only.",
)
REPLAY_MEMBERS = (STATUSES, REASONS, IDS)


def read_filter(query: Input, destination_id: int) -> DeliveryFilter:
    """Read the filter; the query collects errors."""
    return DeliveryFilter(destination_id, EVENT_ID.read(query), STATUS.read(query), REASON.read(query))


def cursors(signing_key: bytes, space_id: int, delivery_filter: DeliveryFilter) -> Cursors:
    filter_values = {name: value for name, value in asdict(delivery_filter).items() if value is not None}
    return Cursors(signing_key, space_id, "/deliveries", filter_values)


def read_replay(body: dict[str, Any]) -> ReplayRequest:
    """Raise Invalid for bad input."""
    members = {member.name: body[member.name] for member in REPLAY_MEMBERS if member.name in body}
    query = JsonInput(members)
    for name in [name for name, value in members.items() if value is None]:
        query.refuse(name, "must be an array.")
    statuses = STATUSES.read(query)
    reasons = REASONS.read(query) or REPLAYABLE
    ids = IDS.read(query) if query.several(IDS.name) else None
    query.finish()
    return ReplayRequest(statuses, reasons, ids)
