"""GET /reports/platform-comparison: a platform's own figures and ours, with steps that add up exactly."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from headwater.reports.questions.platform_comparison import StepReason
from tests.reports.spend_worlds import (
    ZONES,
    World,
    some_question,
    some_rates,
    some_row,
    some_sales,
    written_rates,
)
from tests.reports.test_spend_report import DECODE, MAY, put, spend_row
from tests.support.campaigns import campaign_size
from tests.support.factories import Stage
from tests.support.former_networks import put_spend
from tests.support.reading_fixtures import Api

COMPARISONS = campaign_size("HEADWATER_PLATFORM_COMPARISONS", 12, 2000)
OF_A_WORLD = 6
"""Comparisons in each random Space."""
WINDOWS = (1, 7, 14, 30, 60, 90)
SOURCES = {"meta": "facebook_ads", "google": "google_ads"}


def compare(api: Api, status: int = 200, **params: Any) -> Any:
    response = api.get("/reports/platform-comparison", params={**MAY, **params})
    assert response.status_code == status, response.text
    return DECODE(response.content)


def pair(count: Any) -> tuple[Decimal, Decimal]:
    return Decimal(count["conversions"]), Decimal(count["revenue"])


def read_steps(answer: Any) -> dict[str, tuple[Decimal, Decimal]]:
    return {step["step"]: pair(step) for step in answer["steps"]}


def check_sums(answer: Any) -> None:
    first = answer["reported"] or answer["counted_like_platform"]
    for index in (0, 1):
        total = pair(first)[index] + sum(change[index] for change in read_steps(answer).values())
        assert total == pair(answer["credited"])[index]


@pytest.fixture
def space(stage: Stage) -> Stage:
    """A Space in euros with five orders from Meta: 3 days after the click, 20 days after it, in June after a
    click in May, with a later e-mail, and refunded.
    """
    stage.connection.execute(
        "UPDATE spaces SET currency = 'EUR', timezone = 'UTC' WHERE id = %s", (stage.space_id,)
    )
    for amount, click, day, later in (
        (100, "05-10", "05-13", None), (50, "05-02", "05-22", None), (30, "05-30", "06-02", None),
        (20, "05-20", "05-22", "email"), (10, "05-20", "05-23", None),
    ):  # fmt: skip
        contact_id = stage.contact()
        stage.touchpoint(contact_id, "facebook_ads", occurred_at=f"2026-{click} 12:00:00+00")
        if later:
            stage.touchpoint(contact_id, later, occurred_at=f"2026-{day} 09:00:00+00")
        stage.event(contact_id, amount=amount, event_time=f"2026-{day} 12:00:00+00")
        if amount == 10:
            stage.event(contact_id, amount=-4, event_time="2026-05-25 12:00:00+00")
    return stage


@pytest.mark.usefixtures("space")
def test_it_works(api: Api) -> None:
    put(api, spend_row(13, "meta", 40, platform_conversions=6, platform_revenue="205.55"),
        spend_row(14, "google", 40, platform_conversions=60, platform_revenue=2000))  # fmt: skip
    answer = compare(api, platform="Facebook Ads")
    assert (answer["platform"], answer["click_window"]) == ("meta", 7)
    assert pair(answer["reported"]) == (6, Decimal("205.55"))
    assert pair(answer["counted_like_platform"]) == (4, 160)
    assert read_steps(answer) == {
        StepReason.REMAINDER: (-2, Decimal("-45.55")),
        StepReason.ATTRIBUTION_WINDOW: (1, 50),
        StepReason.DATE_BASIS: (-1, -30),
        StepReason.REFUNDS: (0, -4),
        StepReason.OTHER_SOURCES: (-1, -20),
    }
    assert pair(answer["credited"]) == (3, 156)
    assert answer["deliveries"] is None
    check_sums(answer)


@pytest.mark.usefixtures("space")
def test_dated_by_the_touch_an_order_after_the_period_counts(api: Api) -> None:
    answer = compare(api, platform="meta", date_basis="touch")
    assert pair(answer["credited"]) == (4, 186)
    assert read_steps(answer)[StepReason.DATE_BASIS] == (0, 0)
    check_sums(answer)


@pytest.mark.usefixtures("space")
def test_without_reported_figures_the_steps_begin_at_our_count(api: Api) -> None:
    put(api, spend_row(13, "meta", 40))
    answer = compare(api, platform="meta")
    assert answer["reported"] is None
    assert StepReason.REMAINDER not in read_steps(answer)
    check_sums(answer)
    empty = compare(api, platform="tiktok")
    assert pair(empty["credited"]) == (0, 0)
    assert set(read_steps(empty).values()) == {(0, 0)}


@pytest.mark.usefixtures("space")
def test_csv(api: Api) -> None:
    put(api, spend_row(13, "meta", 40, platform_conversions=6, platform_revenue="205.55"))
    response = api.get("/reports/platform-comparison", params={**MAY, "platform": "meta"}, accept="text/csv")
    lines = list(csv.reader(io.StringIO(response.text)))
    assert lines[0] == ["line", "conversions", "revenue"]
    assert [line[0] for line in lines[1:]] == ["reported", *StepReason, "credited"]
    assert [sum(Decimal(line[column]) for line in lines[1:-1]) for column in (1, 2)] == [3, 156]


def test_orders_the_platform_was_not_sent(api: Api, space: Stage) -> None:
    orders = space.connection.execute(
        "SELECT id FROM events WHERE space_id = %s AND amount > 0 ORDER BY amount", (space.space_id,)
    ).fetchall()
    (ten, twenty, thirty, fifty, hundred) = (event_id for (event_id,) in orders)
    first, second = space.destination(platform="meta"), space.destination(platform="meta")
    tiktok = space.destination(platform="tiktok")
    for destination, event_id, status in (
        (first, ten, "failed"), (second, ten, "delivered"), (first, twenty, "skipped"),
        (tiktok, thirty, "delivered"), (first, fifty, "failed"), (first, hundred, "delivered"),
    ):  # fmt: skip
        space.add_delivery(destination, event_id, status=status)
    assert compare(api, platform="meta")["deliveries"] == {
        "not_accepted": 2,
        "by_status": {"delivered": 2, "skipped": 1, "not_queued": 1},
    }
    assert compare(api, platform="google")["deliveries"] is None


@pytest.mark.usefixtures("space")
def test_bad_values_are_refused_by_name(api: Api) -> None:
    assert [*compare(api, 422)["errors"]] == ["platform"]
    assert [*compare(api, 422, platform="metta", click_window=8)["errors"]] == ["platform", "click_window"]
    assert "meta" in compare(api, 422, platform="metta")["errors"]["platform"][0]


@pytest.mark.usefixtures("space")
def test_reported_money_is_converted_at_its_day(api: Api) -> None:
    rate = {"date": "2026-05-13", "base": "USD", "currency": "EUR", "rate": "0.5"}
    assert api.send("PUT", "/rates", json={"rates": [rate]}).status_code == 200
    put(api, spend_row(13, "meta", 40, platform_conversions=2, platform_revenue="10.02")
        | {"currency": "USD"})  # fmt: skip
    answer = compare(api, platform="meta")
    assert pair(answer["reported"]) == (2, Decimal("5.01"))
    check_sums(answer)
    dollars = compare(api, platform="meta", currency="USD")
    assert pair(dollars["reported"]) == (2, Decimal("10.02"))
    check_sums(dollars)


def test_steps_add_up_in_random_spaces(stage: Stage, api: Api) -> None:
    """Our figure equals GET /reports, and the platform's count equals plain Python."""
    for number in range(COMPARISONS):
        dice = Random(number)
        in_euros = bool(number // OF_A_WORLD % 3)
        if not number % OF_A_WORLD:
            world = make_world(dice, stage, api, ("EUR",) if in_euros else ("EUR", "USD", "JPY"))
        platform, window = dice.choice(("meta", "google")), dice.choice(WINDOWS)
        question = some_question(dice)
        params = {name: question[name] for name in (
            "start_date", "end_date", "attribution_model", "attribution_window", "date_basis", "currency",
        )}  # fmt: skip
        params["event_names"] = ["purchase"]
        comparison_params = {**params, "platform": platform, "click_window": window}
        answer = compare(api, **comparison_params)
        check_sums(answer)
        report = {**params, "only": f"platform:{platform}", "group_by": "none"}
        assert pair(answer["credited"]) == figures(api, report, "credited_conversions", "credited_revenue"), (
            number,
            comparison_params,
        )
        linear_params = {**report, "attribution_model": "linear"}
        net = figures(api, linear_params, "conversions", "revenue")
        expected = {
            StepReason.OTHER_SOURCES: subtract_step(pair(answer["credited"]), net),
            StepReason.REFUNDS: subtract_step(
                net, figures(api, linear_params, "conversions", "gross_revenue")
            ),
        }
        assert {name: read_steps(answer)[name] for name in expected} == expected
        if in_euros and params["currency"] == "EUR":
            source_id = stage.source_id(SOURCES[platform])
            plain = count_plainly(world, params, source_id, window)
            assert pair(answer["counted_like_platform"]) == plain, (number, comparison_params)


def make_world(dice: Random, stage: Stage, api: Api, currencies: tuple[str, ...]) -> World:
    zone = dice.choice(ZONES)
    world = World(stage.connection, stage.space_id)
    world.begin(zone, None)
    for _ in range(4):
        some_sales(dice, stage, zone, currencies)
    rows = [some_row(dice) for _ in range(dice.randrange(9))]
    world.rates = some_rates(dice)
    if rates := written_rates(world.rates):
        assert api.send("PUT", "/rates", json={"rates": rates}).status_code == 200
    if rows:
        assert put_spend(api, rows).status_code == 200
    return world


def figures(api: Api, params: dict[str, Any], *measures: str) -> tuple[Decimal, Decimal]:
    response = api.get("/reports", params={**params, "measures": [*measures]})
    assert response.status_code == 200, response.text
    totals = DECODE(response.content)["totals"]
    first, second = (Decimal(totals[name]) for name in measures)
    return first, second


def subtract_step(
    step: tuple[Decimal, Decimal], subtrahend: tuple[Decimal, Decimal]
) -> tuple[Decimal, Decimal]:
    return step[0] - subtrahend[0], step[1] - subtrahend[1]


def count_plainly(
    world: World, params: dict[str, Any], source_id: int, window: int
) -> tuple[Decimal, Decimal]:
    """Return the number and amount of whole orders with a click of the platform in the window before them, by
    click date, without refunds.
    """
    zone = ZoneInfo(world.zone)
    start, end = (
        datetime.fromisoformat(params[name]).replace(tzinfo=zone) for name in ("start_date", "end_date")
    )
    clicks: dict[int, list[datetime]] = {}
    for contact_id, moment in world.connection.execute(
        "SELECT contact_id, occurred_at FROM touchpoints WHERE space_id = %s AND source_id = %s",
        (world.space_id, source_id),
    ):
        clicks.setdefault(contact_id, []).append(moment)
    orders, gross = 0, Decimal(0)
    for contact_id, moment, amount in world.connection.execute(
        "SELECT contact_id, event_time, amount FROM events WHERE space_id = %s AND event_name = 'purchase'",
        (world.space_id,),
    ):
        first = max(start.astimezone(UTC), moment - timedelta(days=window))
        last = min(end.astimezone(UTC), moment)
        if any(first <= click <= last for click in clicks.get(contact_id, ())) and (amount or 0) >= 0:
            orders, gross = orders + 1, gross + (amount or 0)
    return Decimal(orders), gross
