"""Credit of a rule-based model for a platform's clicks, frozen when the platform accepts the conversion.

path of a purchase     Meta 0.333334   e-mail 0.333333   Meta 0.333333      paid share 0.666667
credit sent to Meta    number 1: 0.333334                number 2: 0.333333
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from itertools import groupby

import msgspec
from psycopg import AsyncConnection
from psycopg.sql import SQL

from headwater.attribution.models import MODELS
from headwater.attribution.query import Attribution, credited_rows
from headwater.database.bulk_values import rows
from headwater.database.queries import Queries, fetch_all
from headwater.forwarding.deliveries.id_forms import click_ids, sendable
from headwater.forwarding.platforms.models import ClickCredit, Destination, FrozenCredit
from headwater.forwarding.platforms.platform import Platform
from headwater.sources.catalogue import ALL_IDS, PAID_IDS, listed_name
from headwater.sources.networks import FIRST_NUMBER

queries = Queries(__name__, "credits.sql")

MARGIN = 600.0
"""Seconds before a platform's age limit when credit is no longer queued."""


class _Touch(msgspec.Struct, frozen=True):
    event_id: int
    touchpoint_id: int
    share: Decimal
    source_id: int
    url: str | None
    cookies: dict[str, str] | None


class _NewCredit(msgspec.Struct, frozen=True):
    event_id: int
    number: int
    touchpoint_id: int
    credit: FrozenCredit


async def queue_credits(
    connection: AsyncConnection,
    platform: Platform,
    destination: Destination,
    delivery_ids: Collection[int],
    current_time: float,
) -> None:
    """Queue credit for conversions, in the transaction that records their acceptance or their replacement by
    credit. If a platform compares credit with the conversions that it has, it must be sent all events.
    """
    model = getattr(destination.settings, "credit_model", "off")
    if platform.credits is None or model == "off" or not delivery_ids:
        return
    if not destination.all_events and not platform.credits.replaces_conversion:
        return
    attribution = Attribution(model, destination.settings.credit_window, tuple(ALL_IDS))
    credited = credited_rows(attribution, SQL("true"), queries["events"])
    query = queries["touches"].format(credit=MODELS[model].credit, credited=credited)
    values = {
        "space_id": destination.space_id,
        "destination_id": destination.id,
        "delivery_ids": list(delivery_ids),
        "oldest": datetime.fromtimestamp(current_time - platform.credits.age + MARGIN, UTC),
    }
    touch_rows = await fetch_all(connection, query, values | attribution.parameters())
    touches = [_Touch(*row) for row in touch_rows]
    if new := list(make_credits(touches, platform, attribution)):
        await connection.execute(queries["queue"], values | {"credits": rows(new)})


def make_credits(
    touches: Iterable[_Touch], platform: Platform, attribution: Attribution
) -> Iterator[_NewCredit]:
    """Return the shares of the platform's clicks; others only count in the paid share."""
    for event_id, group in groupby(touches, key=lambda touch: touch.event_id):
        path = list(group)
        paid = sum((touch.share for touch in path if _is_paid(touch.source_id)), Decimal(0))
        platform_touches = [touch for touch in path if touch.share and _has_click(touch, platform)]
        for number, touch in enumerate(platform_touches, 1):
            credit = FrozenCredit(touch.share, paid, attribution.model, attribution.window_days)
            yield _NewCredit(event_id, number, touch.touchpoint_id, credit)


def _is_paid(source_id: int) -> bool:
    return source_id >= FIRST_NUMBER or source_id in PAID_IDS


def _has_click(touch: _Touch, platform: Platform) -> bool:
    """Whether the platform gave the touch an id of a valid form."""
    if platform.credits is None or listed_name(touch.source_id) not in platform.sources:
        return False
    sendable_ids = sendable(touch.cookies or {}) | sendable(click_ids(touch.url))
    return not platform.credits.ids.isdisjoint(sendable_ids)


async def load_credits(
    connection: AsyncConnection, space_id: int, delivery_ids: Collection[int]
) -> dict[int, ClickCredit]:
    """Return credit by delivery."""
    values = {"space_id": space_id, "delivery_ids": list(delivery_ids)}
    return {
        row[0]: ClickCredit(msgspec.json.decode(row[1], type=FrozenCredit), *row[2:])
        for row in await fetch_all(connection, queries["load"], values)
    }
