"""SQL compared with a plain-Python model: every model, window and query mode over random journeys.

One example is a Space with several contacts, companies, events and touches, queried in every way; its credits
are compared row by row, in order.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import product

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.sql import SQL

from headwater.attribution import query
from headwater.attribution.models import MODELS, WINDOWS
from headwater.attribution.query import Attribution, credited_rows, queries
from headwater.events.fields import complete_fields
from headwater.events.models import EventSelection, ListEvents
from headwater.events.queries import list_events
from headwater.http.inputs.timerange import TimeRange
from headwater.sources.catalogue import SOURCE_IDS, SOURCES
from tests.models.attribution import Credit, Event, Touch, share_credit, shares
from tests.support.campaigns import campaign_size
from tests.support.factories import Stage, make_stage

LATEST = datetime(2026, 5, 13, 12, tzinfo=UTC)
SOME_SOURCES = ("facebook_ads", "google_ads", "google_organic", "email", "direct")
TRAINED_MODEL = {"facebook_ads": Fraction(3, 10), "google_ads": Fraction(1, 10), "email": Fraction(6, 10)}
WEIGHTS = tuple(int(TRAINED_MODEL.get(name, 0) * 10**9) for name in SOURCES)

# Few instants, so that ties are common; each window's edge, and a millisecond to either side.
SETTINGS = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MILLISECOND = timedelta(milliseconds=1)
AGES = [
    timedelta(seconds=days * 86_400) + nudge
    for days in WINDOWS
    for nudge in (timedelta(0), MILLISECOND, -MILLISECOND)
]
amounts = st.one_of(
    st.none(),
    st.decimals(-1000, 1000, places=2),
    st.decimals(-10, 10, places=4),
    st.sampled_from(["0", "0.01", "-0.01", "0.03", "100", "1E14", "-99999999999999.9999"]).map(Decimal),
)


class Journeys:
    """Rows of one example; contact n belongs to company n // 2, the last contacts to no company."""

    def __init__(self, stage: Stage) -> None:
        self.companies = [stage.company() for _ in range(2)]
        owned = [*self.companies, None]
        self.people = [(stage.contact(company_id=owned[index // 2]), owned[index // 2]) for index in range(6)]
        self.stage = stage
        self.events: list[Event] = []
        self.touches: list[Touch] = []

    def add_touch(self, person: int, age: timedelta, source: str) -> None:
        contact_id, company_id = self.people[person]
        moment = LATEST - age
        number = self.stage.touchpoint(contact_id, source, company_id=company_id, occurred_at=moment)
        self.touches.append(Touch(number, contact_id, company_id, moment, source))

    def add_event(self, person: int, age: timedelta, amount: Decimal | None) -> None:
        contact_id, company_id = self.people[person]
        moment = LATEST - age
        number = self.stage.event(contact_id, company_id=company_id, event_time=moment, amount=amount)
        self.events.append(Event(number, contact_id, company_id, moment, amount))


touch_rows = st.tuples(st.integers(0, 5), st.sampled_from(AGES), st.sampled_from(SOME_SOURCES))
event_rows = st.tuples(
    st.integers(0, 5), st.sampled_from([timedelta(0), MILLISECOND, timedelta(days=7)]), amounts
)


@given(
    touches=st.lists(touch_rows, max_size=40),
    events=st.lists(event_rows, min_size=1, max_size=8),
    sources=st.sets(st.sampled_from(SOME_SOURCES), min_size=1),
)
@settings(
    max_examples=campaign_size("HEADWATER_JOURNEYS", 15, 40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_sql_agrees_with_the_model(
    connection: psycopg.Connection,
    touches: list[tuple[int, timedelta, str]],
    events: list[tuple[int, timedelta, Decimal | None]],
    sources: set[str],
) -> None:
    with connection.transaction(force_rollback=True):
        journeys = Journeys(make_stage(connection))
        for touch in touches:
            journeys.add_touch(*touch)
        for event in events:
            journeys.add_event(*event)
        for model, days, by_company in product(MODELS, WINDOWS, (False, True)):
            expected = share_credit(
                journeys.events,
                journeys.touches,
                model,
                days=days,
                by_company=by_company,
                trained_model=TRAINED_MODEL,
            )
            assert_credits_add_up(expected)
            ids = tuple(SOURCE_IDS[name] for name in sources)
            rows = stored_credits(journeys.stage, Attribution(model, days, ids, by_company, WEIGHTS))
            assert rows == [
                (row.event.id, row.touch.id, row.amount) for row in expected if row.touch.source in sources
            ], (model, days, by_company)


def assert_credits_add_up(credited: Sequence[Credit]) -> None:
    for event in {row.event for row in credited}:
        parts = [row.amount for row in credited if row.event == event]
        if event.amount is None:
            assert set(parts) == {None}
        else:
            assert sum(amount for amount in parts if amount is not None) == event.amount


def stored_credits(stage: Stage, attribution: Attribution) -> list[tuple[int, int, Decimal | None]]:
    rows = stage.connection.execute(
        SQL(
            "SELECT c.event_id, c.touchpoint_id, {} FROM ({}) c"
            " ORDER BY c.event_time DESC, c.event_id DESC, c.occurred_at DESC, c.touchpoint_id DESC"
        ).format(MODELS[attribution.model].credit, credited_rows(attribution, SQL("true"))),
        {"space_id": stage.space_id, **attribution.parameters()},
    )
    return rows.fetchall()


@pytest.mark.parametrize("rare_limit", [0, query.RARE])
@given(
    touches=st.lists(touch_rows, max_size=20),
    events=st.lists(event_rows, min_size=1, max_size=8),
    sources=st.sets(st.sampled_from(SOME_SOURCES), min_size=1, max_size=2),
)
@settings(
    max_examples=campaign_size("HEADWATER_JOURNEYS", 6, 15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_narrowing_loses_no_credit(
    connection: psycopg.Connection,
    database_url: str,
    rare_limit: int,
    touches: list[tuple[int, timedelta, str]],
    events: list[tuple[int, timedelta, Decimal | None]],
    sources: set[str],
) -> None:
    """The list skips events based on their sources; it is compared with the model, too."""
    journeys = Journeys(make_stage(connection))
    for touch in touches:
        journeys.add_touch(*touch)
    for event in events:
        journeys.add_event(*event)
    ids = tuple(SOURCE_IDS[name] for name in sources)

    async def compare() -> None:
        async with await psycopg.AsyncConnection.connect(database_url) as reader:
            for model, days, by_company in product(MODELS, (0, 7), (False, True)):
                page = await list_events(
                    reader,
                    journeys.stage.space_id,
                    everything(Attribution(model, days, ids, by_company, WEIGHTS)),
                )
                expected = share_credit(
                    journeys.events, journeys.touches, model, days=days, by_company=by_company,
                    trained_model=TRAINED_MODEL,
                )  # fmt: skip
                rows = [json.loads(line) for line in page.lines]
                assert [(row["id"], row["touchpoint_id"], row["source"]) for row in rows] == [
                    (row.event.id, row.touch.id, row.touch.source)
                    for row in expected
                    if row.touch.source in sources
                ], (model, days, by_company)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query, "RARE", rare_limit)
        asyncio.run(compare())


def everything(attribution: Attribution) -> ListEvents:
    time = TimeRange(LATEST - timedelta(days=365), LATEST + timedelta(days=1))
    fields = complete_fields(["source"], credited=True)
    return ListEvents(EventSelection(time, (), attribution, (), fields), per_page=1000, position=None)


@given(rows=st.lists(st.tuples(amounts, st.integers(1, 60)), min_size=1, max_size=40))
@settings(SETTINGS, max_examples=100)
def test_shares_of_long_paths_are_exact(
    connection: psycopg.Connection, rows: list[tuple[Decimal | None, int]]
) -> None:
    credit_rows = connection.execute(
        SQL("""
        SELECT array_agg({linear} ORDER BY c.place), array_agg({u_shaped} ORDER BY c.place)
        FROM (
            SELECT e.number, e.touches, place, m.*
            FROM unnest(%s::numeric(19,4)[], %s::bigint[]) WITH ORDINALITY
                 AS e (amount, touches, number)
            CROSS JOIN LATERAL ({units}) m
            CROSS JOIN LATERAL generate_series(1, e.touches) AS place
        ) c
        GROUP BY c.number ORDER BY c.number
        """).format(
            linear=MODELS["linear"].credit, u_shaped=MODELS["u_shaped"].credit,
            units=queries["units"],
        ),
        ([amount for amount, _ in rows], [touches for _, touches in rows]),
    ).fetchall()  # fmt: skip
    for (amount, touches), (linear, u_shaped) in zip(rows, credit_rows, strict=True):
        assert linear == shares(amount, [Fraction(1, touches)] * touches)
        ends, middle = Fraction(2, 5), Fraction(1, 5) / max(1, touches - 2)
        parts = [ends, *[middle] * (touches - 2), ends]
        assert u_shaped == (shares(amount, parts) if touches > 2 else linear)


@pytest.mark.parametrize(
    ("model", "amount", "expected"),
    [
        ("linear", "100", ["33.34", "33.33", "33.33"]),
        ("linear", "0.01", ["0.01", "0", "0"]),
        ("linear", "-0.02", ["-0.01", "-0.01", "0"]),
        ("linear", "0.001", ["0.001", "0", "0"]),
        ("u_shaped", "33.33", ["13.34", "2.22", "2.22", "2.22", "13.33"]),
        ("u_shaped", "100", ["50", "50"]),
        ("u_shaped", "7.77", ["7.77"]),
    ],
)
def test_known_shares(connection: psycopg.Connection, model: str, amount: str, expected: list[str]) -> None:
    rows = connection.execute(
        SQL(
            "SELECT {credit} FROM (SELECT %(touches)s::bigint AS touches, place, m.*"
            " FROM (SELECT %(amount)s::numeric AS amount) e CROSS JOIN LATERAL ({units}) m"
            " CROSS JOIN generate_series(1, %(touches)s::bigint) AS place) c ORDER BY c.place"
        ).format(credit=MODELS[model].credit, units=queries["units"]),
        {"amount": Decimal(amount), "touches": len(expected)},
    ).fetchall()
    assert [value for (value,) in rows] == [Decimal(value) for value in expected]


def test_every_source_fits_the_mask() -> None:
    assert max(SOURCE_IDS.values()) < 63
    assert len(SOURCE_IDS) == len(SOURCES)
