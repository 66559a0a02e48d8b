"""The load's content: seeded journeys of people, split into requests.

A person belongs to one connection, so their events arrive in the same order after any kill. Two runs of one
seed must therefore end in the same contacts, companies and credits.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

FIRST_TIME = 1_704_067_200  # 2024-01-01
SPAN_SECONDS = 40 * 86_400
BATCH_SIZES = (1, 1, 1, 1, 1, 1, 3, 12)
LARGE_BATCHES = (1, 3, 25, 100)
"""For runs of many events."""
ITEMS_OF_A_PERSON = 10
SOURCES = (
    {}, {}, {},
    {"trk_source": "google", "trk_type": "cpc", "trk_campaign": "spring"},
    {"trk_source": "facebook", "trk_type": "paid", "trk_campaign": "4711"},
    {"trk_source": "newsletter"},
)  # fmt: skip


@dataclass(frozen=True)
class Item:
    """An event to send."""

    key: str
    payload: dict[str, Any]
    valid: bool = True


@dataclass(frozen=True)
class Shipment:
    """One request: a single item goes to /events/track, several to /events/batch."""

    items: tuple[Item, ...]


def shipments(seed: str, sizes: Sequence[int] = BATCH_SIZES) -> Iterator[Shipment]:
    """Yield the endless, repeatable requests of one connection. Keys start with the seed."""
    draw = random.Random(seed)
    items = 0
    for number in itertools.count():
        size = draw.choice(sizes)
        people = 10 + items // ITEMS_OF_A_PERSON
        items += size
        yield Shipment(tuple(
            _item(draw, seed, f"{seed}/{number}/{index}", people) for index in range(size)
        ))  # fmt: skip


def _item(draw: random.Random, seed: str, key: str, people: int) -> Item:
    event_name = draw.choice(("view_content", "view_content", "sign_up", "purchase"))
    payload: dict[str, Any] = {
        "event_name": event_name,
        "idempotency_key": key,
        "event_time": FIRST_TIME + draw.randrange(SPAN_SECONDS),
        **_identity(draw, seed, draw.randrange(people)),
        **draw.choice(SOURCES),
    }
    if event_name == "purchase":
        # No order id: it would hide a failure of the idempotency key.
        payload["amount"] = draw.randrange(1, 100_000) / 100
    if draw.random() < 0.03:
        return Item(key, {**payload, "email": "no address"}, valid=False)
    return Item(key, payload)


def _identity(draw: random.Random, seed: str, person: int) -> dict[str, str]:
    """Return identifiers of a person: a token before they are known, either of two addresses, or both kinds,
    which joins and merges their contacts.
    """
    name = re.sub("[^a-z0-9]+", "-", f"{seed} {person}")
    token = {"trk_token": f"token-{name}"}
    email = {"email": f"{name}@firm{person % 7}.com", "first_name": f"First {person}"}
    second = {"email": f"{name}@home.net", "tracking_id": f"id-{name}"}
    return draw.choice((
        token, token, email, second,
        {**email, **token},
        {**email, "tracking_id": f"id-{name}", "profile_field_1": f"field {draw.randrange(9)}"},
    ))  # fmt: skip
