"""Preview what a destination would be sent for one event: the delivery loop's decision and content, without
personal data, and what is missing for a better match. Nothing is sent or stored.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

import msgspec
from psycopg import AsyncConnection

from headwater.base.logs import MASKED
from headwater.database.queries import Queries, fetch_all
from headwater.events.accepted import EVENT_NAMES
from headwater.events.browsing.accepted import COOKIES
from headwater.forwarding.deliveries.answers import DeliveryPreview, MissingIdentifier, PreviewField
from headwater.forwarding.deliveries.conversions import load_events
from headwater.forwarding.deliveries.delivery_log import NEVER_AGAIN
from headwater.forwarding.deliveries.eligibility import (
    Later,
    PendingDelivery,
    Send,
    Skip,
    decide,
    keep_credited_click,
)
from headwater.forwarding.deliveries.first_attempts import repeat_first_attempt
from headwater.forwarding.deliveries.match_identifiers import (
    drop_position,
    find_missing,
    find_origins,
    list_values,
)
from headwater.forwarding.deliveries.reasons import REASONS
from headwater.forwarding.destinations.credentials import DestinationColumns, unseal_destination
from headwater.forwarding.destinations.destinations import fetch_destination
from headwater.forwarding.platforms.identifiers import read_hash
from headwater.forwarding.platforms.models import Conversion, Destination, SkipReason
from headwater.forwarding.platforms.platform import Platform
from headwater.forwarding.platforms.registry import PLATFORMS
from headwater.http.errors import Invalid, require_any
from headwater.sources.clicks import CLICK_IDS

queries = Queries(__name__, "preview.sql")

MOST_READ, MOST_CANDIDATES = 10_000, 100
"""The latest events of a Space to choose from, and those to decide on."""
_PLACE = "Import it with the contact, or set HEADWATER_GEOIP_DB so that visits have it."
_ADVICE = {
    "email": "Send email with the event, or earlier with another event of the person.",
    "phone": "Send phone with its country code, or set the Space's phone region.",
    "ip": "Send ip: the person's address, not your server's.",
    "user_agent": "Send user_agent: the person's browser, not your server's.",
    "full_name": "Send first_name and last_name, or full_name.",
    **dict.fromkeys(("city", "state", "country"), _PLACE),
    "tracking_id": "Send tracking_id: your own id of the person.",
    "consent": "Send consent with the event, or set the Space's ad_consent.",
    **dict.fromkeys(
        CLICK_IDS, "Use the tracker on landing pages, or send their whole address as a touchpoint."
    ),
    **dict.fromkeys(COOKIES, "Use the tracker on your pages, or send the cookie's value with the event."),
}


async def load_preview(
    connection: AsyncConnection, space_id: int, destination_id: int, event_id: int | None
) -> DeliveryPreview:
    """Preview an event, by default the latest that would be sent, preferably a purchase. If none would, the
    latest. Raises NotFound, or Invalid for settings that are no longer accepted.
    """
    row = await fetch_destination(connection, space_id, destination_id, most_counted=0)
    platform = PLATFORMS[row.platform]
    # Without secrets: no part of a call has them.
    columns = DestinationColumns(row.platform, row.settings, None, row.event_names, row.all_events)
    try:
        destination = unseal_destination(b"", (space_id, row.id), columns, platform, platform.url)
    except msgspec.ValidationError:
        raise Invalid.of("settings", "must be entered again: they are no longer accepted.") from None
    if event_id is None:
        names = [name for name in EVENT_NAMES if platform.sent_as(name, row.event_names)] or ["purchase"]
        bound = {"space_id": space_id, "event_names": names, "most_read": MOST_READ, "most": MOST_CANDIDATES}
        event_ids = [found_id for (found_id,) in await fetch_all(connection, queries["candidates"], bound)]
    else:
        event_ids = [event_id]
    loaded = await load_events(connection, space_id, row.id, event_ids)
    require_any(loaded, "Event")
    deliveries = [repeat_first_attempt(loaded_delivery, platform, destination) for loaded_delivery in loaded]
    deliveries.sort(key=lambda delivery: event_ids.index(delivery.id))
    current_time = time.time()
    sent_deliveries = (
        delivery
        for delivery in deliveries
        if isinstance(decide(delivery, platform, destination, current_time), Send)
    )
    return preview(next(sent_deliveries, deliveries[0]), platform, destination, current_time)


def preview(
    delivery: PendingDelivery, platform: Platform, destination: Destination, current_time: float
) -> DeliveryPreview:
    """Preview the delivery of an event that exists."""
    assert delivery.conversion is not None
    conversion = keep_credited_click(delivery.conversion, platform)
    decision = decide(delivery, platform, destination, current_time)
    # If only the time is wrong, what would have been sent at the time of the event.
    timely_decision = decide(delivery, platform, destination, conversion.event_time / 1000)
    reason = decision.reason if isinstance(decision, Skip) else None
    explanation = REASONS[reason] if reason else None
    is_improvable = reason not in (*NEVER_AGAIN, SkipReason.NO_MAPPING, SkipReason.REFUND)
    missing_fields = (
        find_missing(conversion, lambda changed_conversion: platform.build(changed_conversion, destination))
        if is_improvable
        else {}
    )
    return DeliveryPreview(
        destination_id=destination.id,
        platform=platform.name,
        event_id=conversion.event_id,
        event_name=conversion.event_name,
        event_time=datetime.fromtimestamp(conversion.event_time / 1000, UTC),
        touchpoint_id=conversion.touchpoint_id,
        outcome="skipped" if reason else "later" if isinstance(decision, Later) else "sent",
        due_at=datetime.fromtimestamp(decision.at, UTC) if isinstance(decision, Later) else None,
        reason=reason,
        meaning=explanation.meaning if explanation else None,
        remedy=explanation.remedy if explanation else None,
        fields=_list_fields(timely_decision.conversion, platform, destination)
        if isinstance(timely_decision, Send)
        else [],
        missing=[MissingIdentifier(name, fields, _ADVICE[name]) for name, fields in missing_fields.items()],
    )


def _list_fields(conversion: Conversion, platform: Platform, destination: Destination) -> list[PreviewField]:
    content = platform.build(conversion, destination)
    shown_values = dict(list_values(platform.redact(content)))
    origins = find_origins(
        conversion, lambda changed_conversion: platform.build(changed_conversion, destination)
    )
    fields: list[PreviewField] = []
    for path, value in list_values(content):
        origin = (
            origins.get((drop_position(path), value)) if shown_values.get(path, MASKED) == MASKED else None
        )
        if origin and isinstance(value, str) and read_hash(value):
            origin = f"hashed {origin}"
        fields.append(PreviewField(path, shown_values.get(path, MASKED), origin))
    return fields
