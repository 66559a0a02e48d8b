"""Answers to "how did you hear about us?": stored with their source, read again when the Space's phrases
change, and never part of clicked credit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import psycopg
import pytest

from headwater.attribution.paths.builder import build_next
from headwater.events.batch_store import StoredAnswer, fetch_answers
from headwater.intake.pipeline.answers import REREADING_DUTY, reread_next
from headwater.sources.catalogue import SOURCES
from headwater.spaces.settings_input import read_changes
from headwater.spaces.spaces import change_space
from tests.support.factories import NOON
from tests.support.factories import Stage as Rows
from tests.support.pipeline import MINUTE, Stage, add_sender, event, touch
from tests.support.reading_fixtures import RANGE, Api

SetPhrases = Callable[[Mapping[str, str]], None]
T0 = int(NOON.timestamp()) * 1_000
ORDER = {"event_name": "purchase", "order_id": "A-1"}


@pytest.fixture
def queue(connection: psycopg.Connection, stage: Rows) -> Stage:
    return Stage(connection, stage.space_id)


@pytest.fixture
def set_phrases(database_url: str, stage: Rows) -> SetPhrases:
    """Change a Space's answer phrases, like its settings page."""

    def change(phrases: Mapping[str, str]) -> None:
        changes = read_changes({f"heard_about_us.{key}": phrases[key] for key in phrases})

        async def main() -> None:
            async with await psycopg.AsyncConnection.connect(database_url) as connection:
                await change_space(connection, stage.space_id, changes)

        asyncio.run(main())

    return change


def answers(queue: Stage) -> list[StoredAnswer]:
    return fetch_answers(queue.connection, queue.space_id, 0, 1 << 60, 1_000)


def reread(queue: Stage, limit: int = 2_000) -> int:
    """Reread everything, and return the number of batches."""
    pieces = 0
    while reread_next(queue.connection, queue.space_id, limit):
        pieces += 1
    return pieces


def test_it_works(queue: Stage, set_phrases: SetPhrases) -> None:
    texts = ("Instagram", "the OMR podcast", "omr!", "a friend")
    ids = queue.run(*(event(email=f"{number}@b.org", heard_about_us=text)
                      for number, text in enumerate(texts)), event(email="e@b.org"))  # fmt: skip
    assert answers(queue) == [
        (receipt, text, source)
        for receipt, text, source in zip(
            ids, texts, ("instagram", "podcast", "other", "word_of_mouth"), strict=False
        )
    ]
    set_phrases({"OMR": "event"})
    assert queue.space_id in REREADING_DUTY.waiting(queue.connection)
    assert reread(queue, 2) == 3
    assert [answer.source for answer in answers(queue)] == [
        "instagram", "event", "event", "word_of_mouth",
    ]  # fmt: skip
    assert queue.space_id not in REREADING_DUTY.waiting(queue.connection)
    queue.run(event(email="f@b.org", heard_about_us="Omr Festival"))
    assert answers(queue)[-1].source == "event", "what comes later goes by it"
    set_phrases({"omr": ""})
    reread(queue)
    assert [answer.source for answer in answers(queue)][1:3] == ["podcast", "other"]


def test_nothing_is_read_anew_where_nothing_changed(queue: Stage, set_phrases: SetPhrases) -> None:
    set_phrases({"omr": "event"})
    reread(queue)
    set_phrases({"OMR ": "event", "nothing": ""})
    assert queue.space_id not in REREADING_DUTY.waiting(queue.connection)


def test_an_answer_outlives_the_event_of_the_page(queue: Stage) -> None:
    first, second = queue.run(
        add_sender("browser", event(trk_token="t", heard_about_us="tv", **ORDER)),
        event(email="a@b.org", trk_token="t", **ORDER),
    )
    assert answers(queue) == [(second, "tv", "tv")]
    assert first not in queue.values("events", "id")


def test_it_is_no_part_of_credit(queue: Stage, api: Api, set_phrases: SetPhrases) -> None:
    """Credit, paths and click-based reports stay exactly the same, whatever contacts answer."""
    identifiers = {"email": "a@b.org"}
    times = {"event_time": T0 + MINUTE}
    queue.run(
        touch(source="google_ads", occurred_at=T0 - MINUTE, **identifiers),
        event(amount="10", **identifiers, **times),
    )
    source_query = {**RANGE, "group_by[]": "source", "measures[]": ["credited_revenue", "events"],
                    "attribution_model": "linear"}  # fmt: skip
    listing_query = {"sources[]": list(SOURCES[:15]), "attribution_model": "linear",
                     "attribution_window": 30, "fields[]": ["amount", "source"]}  # fmt: skip
    before = api.get("/reports", params=source_query).json()["rows"], api.rows(**listing_query)
    queue.run(event(event_name="sign_up", heard_about_us="Instagram ad", **identifiers, **times))
    while build_next(queue.connection, queue.space_id):
        pass
    purchases = {"event_names[]": "purchase"}
    set_phrases({"instagram": "tv"})
    reread(queue)
    after = (
        api.get("/reports", params=source_query | purchases).json()["rows"],
        api.rows(**listing_query, **purchases),
    )
    assert after == before != ([], [])
    answers_query = {**RANGE, **purchases, "group_by[]": "self_reported_source", "measures[]": "revenue"}
    assert api.get("/reports", params=answers_query).json()["rows"] == [["tv", 10]]


def test_a_contact_counts_by_its_last_answer(queue: Stage, api: Api) -> None:
    queue.run(
        event(email="a@b.org", amount="10", event_time=T0, heard_about_us="radio"),
        event(email="a@b.org", event_name="sign_up", event_time=T0 - MINUTE, heard_about_us="tv"),
        event(email="b@b.org", amount="5", event_time=T0 + 2 * MINUTE),
        event(email="c@b.org", tracking_id="c", amount="1", event_time=T0, heard_about_us="a friend"),
    )
    query: dict[str, Any] = {**RANGE, "group_by[]": "self_reported_source",
                             "measures[]": ["revenue", "contacts"]}  # fmt: skip
    rows = [["radio", 10, 1], [None, 5, 1], ["word_of_mouth", 1, 1]]
    assert api.get("/reports", params=query).json()["rows"] == rows
    filtered_query = {**query, "group_by[]": "none", "only[]": "self_reported_source:radio"}
    assert list(api.get("/reports", params=filtered_query).json()["totals"].values()) == [10, 1]
    event_rows = api.rows(**{"fields[]": ["heard_about_us", "self_reported_source", "amount"]})
    assert [(row["heard_about_us"], row["self_reported_source"]) for row in event_rows] == [
        (None, None), ("a friend", "word_of_mouth"), ("radio", "radio"), ("tv", "radio"),
    ]  # fmt: skip
    queue.run(event(email="b@b.org", tracking_id="c", event_time=T0 - MINUTE))
    merged_rows = [["radio", 10, 1], ["word_of_mouth", 6, 1]]
    assert api.get("/reports", params=query).json()["rows"] == merged_rows, "two that were one"
