"""Time decay: its weights in the database and in numpy, its shares of any amount, its half-life."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import accumulate

import numpy as np
import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.attribution.credits import LATEST_WEIGHT, STEPS, Crediting, TouchAges, TouchSlices, weigh
from headwater.attribution.models import MODELS
from headwater.attribution.paths.builder import build_next
from tests.support.decay import decayed_fractions, weight
from tests.support.factories import Stage
from tests.support.reading_fixtures import RANGE, Api
from tests.support.report_model.credit import share_out

DAY = 86_400
START = datetime(2026, 5, 13, tzinfo=UTC)
UNITS = st.one_of(st.integers(0, 9), st.integers(0, 10**6), st.integers(0, 10**18))
PATHS = st.lists(st.tuples(UNITS, st.lists(st.integers(0, 40 * DAY), max_size=12)), min_size=1, max_size=8)


def test_it_works(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    for days, source in ((14, "google_ads"), (7, "email"), (0, "direct")):
        moment = START - timedelta(days=days)
        stage.touchpoint(contact_id, source, occurred_at=moment)
    stage.event(contact_id, event_time=START + timedelta(days=3), amount=70)
    assert list_credits(api) == {"google_ads": 10, "email": 20, "direct": 40}


def test_credit_follows_the_half_life(api: Api, stage: Stage) -> None:
    """From the next answer on, in lists and in reports, whose sums over segments are cached."""
    contact_id = stage.contact()
    for days, source in ((21, "google_ads"), (7, "email")):
        stage.touchpoint(contact_id, source, occurred_at=START - timedelta(days=days))
    stage.event(contact_id, event_time=START, amount=100)
    while build_next(stage.connection, stage.space_id):
        pass
    for days, expected in ((7, [20, 80]), (14, [33.33, 66.67]), (2, [0.78, 99.22]), (7, [20, 80])):
        stage.connection.execute(
            "UPDATE spaces SET half_life_days = %s WHERE id = %s", (days, stage.space_id)
        )
        for _ in range(2):
            assert list_credits(api) == report_credits(api) == {
                "google_ads": expected[0], "email": expected[1],
            }  # fmt: skip


def list_credits(api: Api) -> dict[str, float]:
    rows = api.rows(**{
        "sources[]": ["google_ads", "email", "direct"], "attribution_model": "time_decay",
        "attribution_window": 0, "fields[]": ["source", "amount"],
    })  # fmt: skip
    return {row["source"]: row["amount"] for row in rows}


def report_credits(api: Api) -> dict[str, float]:
    answer = api.get("/reports", params={
        **RANGE, "measures[]": "credited_revenue", "group_by[]": "source",
        "attribution_model": "time_decay", "attribution_window": 0,
    }).json()  # fmt: skip
    return dict(answer["rows"])


@given(
    ages=st.lists(st.one_of(st.integers(0, 10**10), st.integers(0, 60 * DAY)), max_size=30),
    half_life=st.integers(1, 365),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_weights_are_the_same_everywhere(
    connection: psycopg.Connection, ages: list[int], half_life: int
) -> None:
    expected = [weight(age, half_life) for age in ages]
    assert weigh(np.array(ages, dtype=np.int64), half_life).tolist() == expected
    rows = connection.execute(
        "SELECT decayed_weight(a.age, %s) FROM unnest(%s::bigint[]) WITH ORDINALITY a (age, nth)"
        " ORDER BY a.nth",
        (half_life, ages),
    ).fetchall()
    assert [value for (value,) in rows] == expected


def test_every_step_of_the_first_half_life(connection: psycopg.Connection) -> None:
    steps = np.arange(STEPS)
    ages = -(-steps * 7 * DAY // STEPS)
    (database_weights,) = connection.execute(
        "SELECT array_agg(decayed_weight(age, 7) ORDER BY age) FROM unnest(%s::bigint[]) age",
        (ages.tolist(),),
    ).fetchone() or ([],)
    expected = [weight(age, 7) for age in ages.tolist()]
    assert database_weights == weigh(ages, 7).tolist() == expected
    assert expected[0] == LATEST_WEIGHT > expected[-1] > LATEST_WEIGHT // 2
    assert expected == sorted(set(expected), reverse=True)


def test_weights_are_close_to_an_exponential() -> None:
    ages = np.arange(0, 20 * 7 * DAY, 977)
    exact = LATEST_WEIGHT * np.exp2(-ages / (7 * DAY))
    assert np.all(np.abs(weigh(ages, 7) - exact) <= exact * (1 / STEPS) + 1)


@given(paths=PATHS, half_life=st.integers(1, 60))
@settings(max_examples=300, deadline=None)
def test_shares_are_exact_in_bulk(paths: list[tuple[int, list[int]]], half_life: int) -> None:
    """For many events at once, with any amounts, ties, and paths without a touch."""
    seconds = [sorted(path) for _, path in paths]
    ends = np.array(list(accumulate(map(len, seconds))))
    slices = TouchSlices(ends - [len(path) for path in seconds], ends)
    touches = np.array([second for path in seconds for second in path], dtype=np.int64)
    crediting = Crediting(slices, np.ones_like(touches), TouchAges(touches, half_life))
    units = np.array([number for number, _ in paths], dtype=np.int64)
    shares = crediting.credit("time_decay").shares(units, MODELS["time_decay"].share.spread)
    expected = [
        share
        for (number, _), path in zip(paths, seconds, strict=True)
        if path
        for share in share_out(
            number, decayed_fractions([START + timedelta(seconds=second) for second in path], half_life)
        )
    ]
    assert shares.tolist() == expected
