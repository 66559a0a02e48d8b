"""`channel_changes` of GET /reports: the change by channel, in parts that add up exactly."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from headwater.reports.questions.channel_changes import Sales, split_change
from headwater.sources.catalogue import find_channel
from tests.reports.spend_worlds import SOURCES, ZONES, World, some_sales
from tests.reports.test_spend_report import DECODE
from tests.support.campaigns import campaign_size
from tests.support.factories import Stage
from tests.support.reading_fixtures import Api

SPACES = campaign_size("HEADWATER_CHANNEL_CHANGES", 4, 1000)
PARTS = ("revenue_difference", "by_conversions", "by_value", "conversions", "conversions_before")
MAY: dict[str, Any] = {
    "start_date": "2026-05-01 00:00:00",
    "end_date": "2026-05-31 23:59:59",
    "group_by": "channel",
    "compare": "previous_period",
}


def ask(api: Api, **params: Any) -> Any:
    response = api.get("/reports", params={**MAY, **params})
    assert response.status_code == 200, response.text
    return DECODE(response.content)


@pytest.fixture
def space(stage: Stage) -> Stage:
    """E-mail has fewer and smaller orders than before, paid is new, and organic is gone."""
    stage.connection.execute(
        "UPDATE spaces SET currency = 'EUR', timezone = 'UTC' WHERE id = %s", (stage.space_id,)
    )
    for source, amount, day in (
        ("email", 90, "04-10"), ("email", 60, "04-11"), ("email", 50, "05-11"),
        ("google_ads", 40, "05-12"), ("google_organic", 30, "04-12"),
        (None, 10, "04-13"), (None, 25, "05-13"),
    ):  # fmt: skip
        contact_id = stage.contact()
        if source:
            stage.touchpoint(contact_id, source, occurred_at=f"2026-{day} 11:00:00+00")
        stage.event(contact_id, amount=amount, event_time=f"2026-{day} 12:00:00+00")
    return stage


@pytest.mark.usefixtures("space")
def test_it_works(api: Api) -> None:
    changes = ask(api)["channel_changes"]
    parts_by_channel = {row["channel"]: [row[name] for name in PARTS[:3]] for row in changes["channels"]}
    assert parts_by_channel == {"email": [-100, -75, -25], "paid": [40, 40, 0], "organic": [-30, -30, 0]}
    assert [*parts_by_channel] == ["email", "paid", "organic"]
    assert [changes["unattributed"][name] for name in PARTS[:3]] == [15, 0, 15]
    assert [changes["totals"][name] for name in PARTS] == [-75, -65, -10, 3, 4]
    assert (changes["totals"]["revenue_before"], changes["totals"]["revenue"]) == (190, 115)


@pytest.mark.usefixtures("space")
@pytest.mark.parametrize(
    "change",
    [
        {"compare": "none"},
        {"group_by": "source"},
        {"group_by": ["channel", "day"]},
        {"measures": "revenue"},
        {"attribution_models": ["linear", "last_touch"]},
        {"start_date": "2026-04-01 00:00:00", "end_date": "2026-04-30 23:59:59"},
    ],
)
def test_other_reports_have_none(api: Api, change: dict[str, Any]) -> None:
    assert ask(api, **change)["channel_changes"] is None


@pytest.mark.usefixtures("space")
def test_a_filter_on_touches_leaves_unattributed_out(api: Api) -> None:
    changes = ask(api, sources=["email"], limit=1)["channel_changes"]
    assert changes["unattributed"] is None
    assert [changes["totals"][name] for name in PARTS[:3]] == [-100, -75, -25]


def test_parts_add_up_in_random_spaces(stage: Stage, api: Api) -> None:
    """They also equal the sums of plain Python under a model that credits whole orders."""
    for number in range(SPACES):
        dice = Random(number)
        zone = dice.choice(ZONES)
        world = World(stage.connection, stage.space_id)
        world.begin(zone, None)
        for _ in range(5):
            some_sales(dice, stage, zone, ("EUR",), first_day=date(2026, 4, 20))
        for model in ("last_touch", dice.choice(("linear", "u_shaped", "time_decay"))):
            parameters = {"attribution_model": model, "event_names": ["purchase"]}
            answer = ask(api, **parameters)
            changes = answer["channel_changes"]
            if changes is None:
                assert answer["not_compared"]
                continue
            check_sums(answer, changes)
            if model == "last_touch":
                assert read_parts(changes) == count_plainly(world), number


def check_sums(answer: Any, changes: Any) -> None:
    rows = [*changes["channels"], changes["unattributed"]]
    for row in [*rows, changes["totals"]]:
        assert row["revenue_difference"] == row["by_conversions"] + row["by_value"]
        assert row["revenue_difference"] == row["revenue"] - row["revenue_before"]
    for name in PARTS[:3]:
        assert changes["totals"][name] == sum(row[name] for row in rows)
    overall = answer["overall"]
    before, after = overall["credited_revenue_before"], overall["credited_revenue"]
    assert changes["totals"]["revenue_difference"] == after - before


def read_parts(changes: Any) -> dict[str | None, tuple[Decimal, ...]]:
    parts = {row["channel"]: row for row in changes["channels"]} | {None: changes["unattributed"]}
    figures_by_channel = {key: tuple(Decimal(row[name]) for name in PARTS) for key, row in parts.items()}
    return {key: figures for key, figures in figures_by_channel.items() if any(figures)}


def count_plainly(world: World) -> dict[str | None, tuple[Decimal, ...]]:
    """Return the parts by the channel of the last touch in 30 days; None without a touch."""
    zone, numbers = ZoneInfo(world.zone), {}
    stage = Stage(world.connection, world.space_id, "")
    for source in SOURCES:
        numbers[stage.source_id(source)] = source
    touches: dict[int, list[tuple[datetime, int, str]]] = defaultdict(list)
    for contact_id, moment, touch_id, source_id in world.connection.execute(
        "SELECT contact_id, occurred_at, id, source_id FROM touchpoints WHERE space_id = %s",
        (world.space_id,),
    ):
        touches[contact_id].append((moment, touch_id, find_channel(numbers[source_id])))
    sums: dict[tuple[str, str | None], list[Any]] = defaultdict(lambda: [0, Decimal(0)])
    for contact_id, moment, amount in world.connection.execute(
        "SELECT contact_id, event_time, amount FROM events WHERE space_id = %s AND event_name = 'purchase'",
        (world.space_id,),
    ):
        before = [touch for touch in touches[contact_id] if moment - timedelta(days=30) <= touch[0] <= moment]
        channel = max(before)[2] if before else None
        month = f"{moment.astimezone(zone):%m}"
        channel_sums = sums[month, channel]
        channel_sums[0] += (amount or 0) >= 0
        channel_sums[1] += amount or 0
    parts: dict[str | None, tuple[Decimal, ...]] = {}
    for channel in {channel for _, channel in sums}:
        (count0, money0), (count1, money1) = sums["04", channel], sums["05", channel]
        difference = money1 - money0
        by_count = difference
        if count0 and count1:
            exact = (count1 - count0) * Fraction(money0) / count0
            by_count = round_cents(exact)
        figures = (difference, by_count, difference - by_count, Decimal(count1), Decimal(count0))
        if any(figures):
            parts[channel] = figures
    return parts


def round_cents(exact: Fraction) -> Decimal:
    return (Decimal(exact.numerator) / exact.denominator).quantize(Decimal("0.01"), ROUND_HALF_UP)


def test_parts_of_a_cent_are_in_the_value() -> None:
    change = split_change(Sales(Fraction(3), Decimal(100)), Sales(Fraction(2), Decimal("66.6667")))
    assert (change.by_conversions, change.by_value) == (Decimal("-33.33"), Decimal("-0.0033"))
    assert split_change(Sales(), Sales(Fraction(2), Decimal(7))).by_value == 0
