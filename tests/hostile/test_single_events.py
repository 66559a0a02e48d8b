"""No single event breaks anything, in any way of sending it: reports, lists, exports, alerts, jobs, pages and
tools still work afterwards, and the figures of other events don't change.

`make hostile` makes it a long run: groups of 100 events, each in its own Space. A group that fails is halved
until the event is found.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from random import Random

import psycopg
import pytest

from tests.conftest import Running
from tests.console.conftest import accounts, console, passwords
from tests.hostile.shop import House, Shop
from tests.hostile.shop_questions import find_faults, honest_figures, wrong_figures
from tests.hostile.single_events import HostileEvent, some_group
from tests.support.accounts import Accounts
from tests.support.campaigns import campaign_size

__all__ = ["accounts", "console", "passwords"]

EVENTS = campaign_size("HEADWATER_HOSTILE_EVENTS", 0, 5000)
FIRST = int(os.environ.get("HEADWATER_FIRST_HISTORY", "0"))
SIZE, USUAL_SIZE = 100, 12
ZONES = ("Europe/Berlin", "America/Havana", "Asia/Kathmandu", "Pacific/Apia", "UTC")


@pytest.fixture
def house(
    server: Running, console: Running, database_url: str, connection: psycopg.Connection,
    accounts: Accounts,
) -> House:  # fmt: skip
    return House(server, console, database_url, connection, accounts)


def judge(house: House, events: Sequence[HostileEvent], seed: int) -> tuple[list[str], int]:
    """Return the faults that events cause in a new Space, and how many were accepted."""
    shop = Shop(house, ZONES[seed % len(ZONES)])
    try:
        shop.begin()
        before = honest_figures(shop, seed)
        shop.send(list(events))
        faults = list(shop.jobs())
        faults += find_faults(shop, Random(seed))
        faults += wrong_figures(shop)
        for (path, arguments, figures_before), (_, _, figures_after) in zip(
            before, honest_figures(shop, seed), strict=True
        ):
            if figures_before != figures_after:
                faults.append(f"{path} {arguments}: {figures_after} instead of {figures_before}")
        return faults, shop.accepted
    finally:
        shop.close()


def fewest_events(house: House, events: Sequence[HostileEvent], seed: int) -> Sequence[HostileEvent]:
    """Return the fewest events that still cause a fault."""
    if len(events) > 1:
        middle = len(events) // 2
        for half in (events[:middle], events[middle:]):
            if judge(house, half, seed)[0]:
                return fewest_events(house, half, seed)
    return events


def test_it_works(house: House) -> None:
    groups = range(FIRST, FIRST + max(1, -(-EVENTS // SIZE)))
    size, accepted_count, start = SIZE if EVENTS else USUAL_SIZE, 0, time.monotonic()
    for seed in groups:
        events = some_group(seed, size)
        faults, count = judge(house, events, seed)
        if faults:
            fewest = fewest_events(house, events, seed)
            pytest.fail("\n".join([f"group {seed}", *faults[:10], *map(repr, fewest)]))
        accepted_count += count
        if EVENTS:
            seconds = round(time.monotonic() - start)
            print(f"{accepted_count} hostile events in {seconds} s", flush=True)  # noqa: T201 - shown with -s
    assert accepted_count > 0.5 * len(groups) * size
