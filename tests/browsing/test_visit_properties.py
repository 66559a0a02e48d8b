"""Visits and their touchpoints depend neither on the order of arrival nor on the batches of page views and
events: they equal a plain model over all of them, sorted by time.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import psycopg
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.sources.catalogue import SOURCES
from tests.models.visits import PageView, find_visits, select_touches
from tests.pipeline.test_pipeline_properties import SETTINGS, check_sources, run
from tests.support.campaigns import campaign_size
from tests.support.pipeline import DAY, MINUTE, T0, Accepted, Stage, event, hit, new_stage

FEW = settings(SETTINGS, max_examples=campaign_size("HEADWATER_HISTORIES", 12, 2000))

PAGE = "https://shop.example/shoes"
ARRIVALS: dict[str, tuple[str, str | None, str | None, str | None]] = {
    "typed": (PAGE, None, "direct", None),
    "inside": (PAGE, "https://www.shop.example/", None, None),
    "search": (PAGE, "https://www.google.com/", "google_organic", None),
    "ad a": (f"{PAGE}?utm_source=fb&utm_medium=cpc&utm_campaign=a", None, "facebook_ads", "a"),
    "ad b": (f"{PAGE}?utm_source=fb&utm_medium=cpc&utm_campaign=b", None, "facebook_ads", "b"),
    "paid": (f"{PAGE}?utm_source=fb&utm_medium=cpc&utm_campaign=a", "https://paypal.com/",
             "facebook_ads", "a"),
    "said": (f"{PAGE}?trk_source=direct", None, "direct", "said"),
}  # fmt: skip
"""URL and referrer, then the resulting source and campaign."""

CONTACTS = {"t1": "ada", "t2": "ada", "t3": "bob"}
"""Contacts by the token of their browser."""

moments = st.builds(
    lambda steps, offset: T0 + steps * 10 * MINUTE + offset,
    st.integers(0, 14),
    st.sampled_from([0, 0, -1, 1]),
)
views = st.tuples(st.sampled_from(["t1", "t1", "t2", "t2", "t3"]), moments, st.sampled_from(sorted(ARRIVALS)))

rows = views | views | views | moments
told = st.lists(rows, min_size=1, max_size=6) | st.lists(rows, min_size=12, max_size=24)
batches = st.just([1] * 30) | st.lists(st.integers(1, 6), max_size=8)


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[Accepted], list[PageView], list[tuple[str, int]]]:
    """Return rows in order of arrival, and the same rows for the model."""
    items: list[Accepted] = []
    page_views: list[PageView] = []
    other_touches: list[tuple[str, int]] = []
    for number, arrival in enumerate(draw(told)):
        if isinstance(arrival, int):
            items.append(event(email="ada@acme.com", event_time=arrival, trk_source="sms",
                               trk_campaign=f"campaign {number}"))  # fmt: skip
            other_touches.append(("ada", arrival))
        else:
            token, moment, how = arrival
            url, referrer, source, campaign = ARRIVALS[how]
            items.append(hit(trk_token=token, occurred_at=moment, url=url, referrer=referrer))
            page_views.append(PageView(number, CONTACTS[token], token, moment, source, campaign))
    for index in draw(st.lists(st.integers(0, len(items) - 1), max_size=3)):
        if not isinstance(items[index], type(event())):
            items.append(items[index])
    return items, page_views, other_touches


def store_contacts(stage: Stage) -> None:
    """Store the contacts of the browsers, identified long before."""
    stage.run(*(event(trk_token=token, email=f"{name}@acme.com", event_time=T0 - 300 * DAY)
                for token, name in CONTACTS.items()))  # fmt: skip


def numbering(stage: Stage) -> dict[int, int]:
    """Return the number of each row of a story by its receipt."""
    return {receipt: number for number, receipt in enumerate(stage.receipts[len(CONTACTS) :])}


def stored_visits(stage: Stage) -> set[tuple[Any, ...]]:
    numbers = numbering(stage)
    members: dict[int, set[int]] = {}
    for hit_id, visit_id in stage.rows("hits", "id", "visit_id"):
        members.setdefault(visit_id, set()).add(numbers[hit_id])
    return {
        (frozenset(members.pop(visit_id)), first, last)
        for visit_id, first, last in stage.rows(
            "visits", "id", "extract(epoch FROM started_at) * 1000",
            "extract(epoch FROM last_hit_at) * 1000",
        )
    } | {("of no visit", leftover_id) for leftover_id in members}  # fmt: skip


@FEW
@given(story=stories(), sizes=batches)
def test_it_works(
    connection: psycopg.Connection,
    story: tuple[list[Accepted], list[PageView], list[tuple[str, int]]],
    sizes: list[int],
) -> None:
    items, page_views, other_touches = story
    stage = new_stage(connection)
    store_contacts(stage)
    run(stage, items, sizes)
    visits = find_visits(page_views)
    assert stored_visits(stage) == {
        (frozenset(view.number for view in visit.views), visit.views[0].time, visit.views[-1].time)
        for visit in visits
    }
    numbers = numbering(stage)
    assert {
        numbers[touchpoint]: SOURCES[source - 1]
        for touchpoint, source, by_hit in stage.rows("touchpoints", "id", "source_id", "by_hit")
        if by_hit
    } == select_touches(visits, other_touches)
    check_sources(stage)


@FEW
@given(story=stories(), sizes=batches)
def test_batches_make_no_difference(
    connection: psycopg.Connection,
    story: tuple[list[Accepted], list[PageView], list[tuple[str, int]]],
    sizes: list[int],
) -> None:
    items, _, _ = story
    dumps = []
    for split in ([], [1] * len(items), sizes):
        stage = new_stage(connection)
        store_contacts(stage)
        run(stage, items, split)
        dumps.append(stage.dump())
    assert dumps[0] == dumps[1]
    assert dumps[0] == dumps[2]


def test_the_model_tells_visits_apart() -> None:
    first = PageView(0, "ada", "t1", T0, "direct")
    near = dataclasses.replace(first, number=1, time=T0 + 30 * MINUTE - 1)
    later = dataclasses.replace(first, number=2, time=T0 + 60 * MINUTE - 1)
    assert [len(visit.views) for visit in find_visits([later, near, first])] == [2, 1]
    assert select_touches(find_visits([first, near, later]), [("ada", T0 + 40 * MINUTE)]) == {0: "direct"}
