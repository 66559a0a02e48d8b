"""What a platform that knows no id of ours was first told of a conversion. It is stored before the call
leaves, and later attempts and corrections repeat it: under another click, name or time the platform would
count the conversion again, and of two amounts it keeps the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from headwater.database.bulk_values import rows
from headwater.database.pool import Database
from headwater.database.queries import Queries
from headwater.forwarding.deliveries.eligibility import PendingDelivery
from headwater.forwarding.destinations import leases
from headwater.forwarding.destinations.leases import DestinationLease
from headwater.forwarding.platforms.models import Conversion, Destination, FirstAttempt
from headwater.forwarding.platforms.platform import Platform

queries = Queries(__name__, "first_attempts.sql")


class NewAttempt(msgspec.Struct, frozen=True):
    """The first attempt of a delivery."""

    id: int
    first_attempt: FirstAttempt
    touchpoint_id: int | None


def list_first_attempts(
    parts: Iterable[tuple[PendingDelivery, Conversion]], platform: Platform, destination: Destination
) -> list[NewAttempt]:
    """Return what is sent for the first time, with the conversions as they are sent."""
    if platform.repeat_click is None:
        return []
    return [
        NewAttempt(delivery.id, _make(conversion, platform, destination), conversion.touchpoint_id)
        for delivery, conversion in parts
        if delivery.first_attempt is None and delivery.kind != "correction"
    ]


async def keep_first_attempts(
    database: Database, lease: DestinationLease, attempts: Sequence[NewAttempt]
) -> None:
    """Store them for good. Raises LeaseLostError: another process may have sent others."""
    if attempts:
        async with database.transaction() as connection:
            await leases.lock_leased(connection, lease)
            await connection.execute(queries["keep"], {**lease.values(), "rows": rows(attempts)})


def repeat_first_attempt(
    delivery: PendingDelivery, platform: Platform, destination: Destination
) -> PendingDelivery:
    """Return the delivery as its first attempt was sent, unless that went to another account."""
    first, conversion, click_name = delivery.first_attempt, delivery.conversion, platform.repeat_click
    if first is None or conversion is None or click_name is None:
        return delivery
    if first.account != platform.find_account(destination):
        return msgspec.structs.replace(delivery, first_attempt=None)
    ids = {} if first.click_id is None else {click_name: first.click_id}
    click = conversion.click
    repeated = msgspec.structs.replace(
        conversion,
        sent_name=first.name,
        event_time=first.event_time,
        amount=first.amount,
        currency=first.currency,
        click=None if click is None else msgspec.structs.replace(click, ids=ids),
        url_click_ids=ids,
    )
    return msgspec.structs.replace(delivery, conversion=repeated)


def _make(conversion: Conversion, platform: Platform, destination: Destination) -> FirstAttempt:
    assert platform.repeat_click is not None
    return FirstAttempt(
        account=platform.find_account(destination),
        name=platform.find_name(conversion, destination) or "",
        event_time=conversion.event_time,
        click_id=conversion.click_id(platform.repeat_click),
        amount=conversion.amount,
        currency=conversion.currency,
    )
