"""How complete the data of recent days usually is, and the expected final figures."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

from headwater.reports.engine.completeness import LEAST_HISTORY, ArrivedFigures, NoEstimate, estimate
from tests.support.campaigns import campaign_size
from tests.support.factories import Stage
from tests.support.reading_fixtures import Api

SPACES = campaign_size("HEADWATER_BACK_TESTS", 100, 1500)
"""Simulated Spaces whose future is known."""
HORIZON = 30
DAY = timedelta(days=1)
FIRST = date(2026, 1, 1)


def noon(days_ago: int) -> datetime:
    """Return noon of an earlier day in the Space's zone, which is UTC."""
    return datetime.combine(datetime.now(UTC).date() - days_ago * DAY, time(12), UTC)


def report(api: Api, **parameters: Any) -> dict[str, Any]:
    defaults = {"period": "last 30 days", "measures[]": "revenue", "group_by[]": "none", "completeness": 1}
    response = api.get("/reports", params=defaults | parameters)
    assert response.status_code == 200, response.text
    return response.json()


def sell(stage: Stage, days: int, late_amount: float = 25) -> int:
    """Store 75 for every day immediately, and some more a day late; yesterday's late part is still
    missing.
    """
    contact_id = stage.contact()
    stage.event(contact_id, amount=None, event_name="lead_generated", event_time=noon(days + 1),
                received_at=noon(days + 1), sender="api_key")  # fmt: skip
    for ago in range(1, days + 1):
        columns = {"event_time": noon(ago), "sender": "api_key"}
        stage.event(contact_id, amount=Decimal(75), received_at=noon(ago), **columns)
        if ago > 1:
            stage.event(contact_id, amount=Decimal(late_amount), received_at=noon(ago - 1), **columns)
    return contact_id


def test_it_works(api: Api, stage: Stage) -> None:
    sell(stage, 70)
    answer = report(api)
    yesterday = noon(1).date()
    assert answer["totals"] == {"revenue": 28 * 100 + 75}, "the figure itself is what is in"
    completeness = answer["completeness"]
    assert completeness["days"] == [
        {"day": f"{yesterday}", "value": 75, "share_in": 0.75, "expected": 100, "low": 100,
         "high": 100}
    ]  # fmt: skip
    assert completeness["share_in"] == 0.75
    assert (completeness["horizon_days"], completeness["history_days"]) == (30, 40)
    assert completeness["reason"] is None
    assert completeness["as_of"] == f"{yesterday + DAY} 00:00:00"
    assert report(api, completeness=0)["completeness"] is None
    refusal = api.get("/reports", params={"completeness": 1, "measures[]": "contacts"})
    assert refusal.status_code == 422
    assert list(refusal.json()["errors"]) == ["measures"]


def test_what_is_imported_is_not_late(api: Api, stage: Stage) -> None:
    contact_id = sell(stage, 70, late_amount=0)
    stage.event(contact_id, amount=Decimal(500), event_time=noon(40), received_at=noon(2),
                sender="import")  # fmt: skip
    assert report(api)["completeness"]["days"] == []


def test_too_little_history(api: Api, stage: Stage) -> None:
    sell(stage, 40)
    completeness = report(api)["completeness"]
    assert (completeness["reason"], completeness["days"]) == ("too_little_history", [])


def test_a_past_that_was_sent_at_once_is_no_history(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    for ago in range(1, 80):
        stage.event(contact_id, amount=Decimal(5), event_time=noon(ago), received_at=noon(1),
                    sender="api_key")  # fmt: skip
    assert report(api)["completeness"]["reason"] == "too_little_history"


def test_by_touch_date(api: Api, stage: Stage) -> None:
    """Half of a touch's revenue comes on its day, and half two days later."""
    start = stage.event(stage.contact(), event_time=noon(99), received_at=noon(99),
                        sender="api_key")  # fmt: skip
    assert start
    for ago in range(1, 60):
        contact_id = stage.contact()
        stage.touchpoint(contact_id, "google_ads", occurred_at=noon(ago))
        for lag in (0, 2):
            if ago - lag >= 1:
                event_time = noon(ago - lag)
                stage.event(contact_id, amount=Decimal(10), event_time=event_time, received_at=event_time,
                            sender="api_key")  # fmt: skip
    by_touch = {"date_basis": "touch", "measures[]": "credited_revenue", "attribution_window": 7}
    completeness = report(api, **by_touch)["completeness"]
    assert completeness["horizon_days"] == 7
    assert [(day["day"], day["value"], day["share_in"], day["expected"])
            for day in completeness["days"]] == [
        (f"{noon(2).date()}", 10, 0.5, 20), (f"{noon(1).date()}", 10, 0.5, 20),
    ]  # fmt: skip
    email_completeness = report(api, **by_touch, **{"sources[]": "email"})["completeness"]
    assert email_completeness["reason"] == "too_little_history", "filters are of the past, too"


def simulate_revenue(dice: Generator, days: int) -> Any:
    """Return a Space's revenue by day and by its age on arrival: with weekdays, growth, good and bad days,
    orders of any size, and a random lag.
    """
    usual, weekday_factors = dice.uniform(5, 300), dice.uniform(0.4, 1.6, 7)
    growth, unrest = dice.uniform(-0.002, 0.004), dice.uniform(0.05, 0.4)
    lag, at_once, spread = dice.uniform(0.5, 6), dice.uniform(0.2, 0.8), dice.uniform(0.2, 1)
    by_age = np.zeros((days, HORIZON + 1))
    for day in range(days):
        luck = np.exp(dice.normal(0, unrest) - unrest**2 / 2)
        orders = dice.poisson(usual * weekday_factors[day % 7] * np.exp(growth * day) * luck)
        later = np.floor(dice.exponential(lag, orders))
        ages = np.where(dice.random(orders) < at_once, 0, later).astype(int).clip(0, HORIZON)
        np.add.at(by_age[day], ages, dice.lognormal(3, spread, orders).round(2))
    return by_age


def test_four_days_in_five_end_up_in_their_interval() -> None:
    dice, hits, off = np.random.default_rng(20), [], []
    for _ in range(SPACES):
        days = int(dice.integers(90, 220))
        by_age = simulate_revenue(dice, days)
        final = by_age.sum(axis=1)
        for age in range(HORIZON):
            by_age[days - 1 - age, age + 1 :] = 0
        dates = [FIRST + offset * DAY for offset in range(days)]
        result = estimate(ArrivedFigures(dates, by_age), dates[-1] + DAY, dates[-14:])
        for day_estimate in result.days:
            truth = final[(day_estimate.day - FIRST).days]
            hits.append(day_estimate.low - 1e-9 <= truth <= day_estimate.high + 1e-9)
            if dates[-1] - day_estimate.day == 7 * DAY:
                off.append(abs(day_estimate.expected - truth) / max(truth, 1))
    assert len(hits) > 8 * SPACES
    assert 0.78 <= np.mean(hits) <= 0.82
    assert np.mean(off) <= 0.05, "at seven days"


@pytest.mark.parametrize("is_open", [(1, 1, 1, 1, 1, 1, 1), (1, 1, 1, 1, 1, 0, 0)], ids=["daily", "weekdays"])
def test_days_without_data_are_part_of_the_history(is_open: tuple[int, ...]) -> None:
    """One order a day, or two on each working day: most expectations are for few orders, and they must not be
    too high.
    """
    dice, expected, late = np.random.default_rng(21), 0.0, 0.0
    for _ in range(200):
        days = int(dice.integers(140, 155))
        orders = dice.poisson([7 / sum(is_open) * is_open[day % 7] for day in range(days)])
        by_age = np.zeros((days, HORIZON + 1))
        for day, count in enumerate(orders):
            np.add.at(by_age[day], dice.choice(5, count, p=(0.6, 0.2, 0.1, 0.05, 0.05)), 1)
        final = by_age.sum(axis=1)
        for age in range(HORIZON):
            by_age[days - 1 - age, age + 1 :] = 0
        dates = [FIRST + offset * DAY for offset in range(days)]
        result = estimate(ArrivedFigures(dates, by_age), dates[-1] + DAY, dates)
        expected += result.expected - result.value
        late += sum(final[(day.day - FIRST).days] - day.value for day in result.days)
    assert expected == pytest.approx(late, rel=0.1)


def test_the_ends_of_the_interval() -> None:
    """With 49 earlier days that received 0 to 48 late, a tenth of 50 is the fifth from either end."""
    earlier = 49
    by_age = np.zeros((earlier + HORIZON, HORIZON + 1))
    by_age[:, 0] = 75
    by_age[:earlier, 1] = np.arange(earlier)
    dates = [FIRST + offset * DAY for offset in range(len(by_age))]
    (day,) = estimate(ArrivedFigures(dates, by_age), dates[-1] + DAY, dates[-1:]).days
    assert (day.low, day.expected, day.high) == pytest.approx((75 + 4, 75 + 24, 75 + 44))


def test_what_there_is_of_history() -> None:
    def estimate_days(days: int, first_known_age: int = 0, value: float = 1.0, empty: int = 0) -> Any:
        dates = [FIRST + offset * DAY for offset in range(days)]
        by_age = np.full((days, HORIZON + 1), value)
        by_age[:empty] = 0
        return estimate(ArrivedFigures(dates, by_age, first_known_age), dates[-1] + DAY, dates)

    least = LEAST_HISTORY + HORIZON
    assert estimate_days(least).reason is None
    assert estimate_days(least - 1).reason is NoEstimate.TOO_LITTLE_HISTORY
    assert estimate_days(least, 1).reason is NoEstimate.TOO_LITTLE_HISTORY
    assert estimate_days(least, empty=1).reason is NoEstimate.TOO_LITTLE_HISTORY
    assert estimate_days(least + 5, empty=5).history_days == LEAST_HISTORY
    assert estimate_days(least, value=0).reason is NoEstimate.TOO_LITTLE_HISTORY
    assert estimate_days(least, value=-1).reason is NoEstimate.TOO_LITTLE_HISTORY
    assert len(estimate_days(400).days) == HORIZON, "one that has reached the horizon is complete"


@pytest.mark.parametrize("days", [0, 1, HORIZON])
def test_a_space_that_has_just_begun(days: int) -> None:
    dates = [FIRST + offset * DAY for offset in range(days)]
    arrivals = ArrivedFigures(dates, np.ones((days, HORIZON + 1)))
    assert estimate(arrivals, FIRST + days * DAY, dates).reason is NoEstimate.TOO_LITTLE_HISTORY
