"""A changed source name applies to data processed earlier just as to new data."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.cli import main
from headwater.intake.pipeline import reclassification
from headwater.intake.pipeline.reclassification import RECLASSIFICATION_DUTY, reclassify_next
from headwater.sources.catalogue import SOURCE_IDS
from headwater.spaces.reclassifications import Reclassification, list_reclassifications
from headwater.spaces.settings_input import read_changes
from headwater.spaces.spaces import change_space
from tests.support.campaigns import campaign_size
from tests.support.pipeline import MINUTE, T0, Accepted, Item, Stage, event, hit, new_stage, person, touch

HISTORIES = campaign_size("HEADWATER_HISTORIES", 8, 1000)
PAGE = "https://shop.example/"
LINK = f"{PAGE}?utm_source=fb-paid&utm_term=boots"
PAID, REFERRAL = SOURCE_IDS["facebook_ads"], SOURCE_IDS["referral"]

SetNames = Callable[..., None]


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id)


@pytest.fixture
def set_names(database_url: str) -> SetNames:
    """Change a Space's source names, like its settings page."""

    def change(stage: Stage, names: Mapping[str, str]) -> None:
        changes = read_changes({f"source_name.{name}": names[name] for name in names})
        _run(database_url, lambda connection: change_space(connection, stage.space_id, changes))

    return change


@pytest.fixture
def list_unfinished(database_url: str) -> Callable[[Stage], list[Reclassification]]:
    """Return a Space's unfinished reclassifications."""

    def read(stage: Stage) -> list[Reclassification]:
        return _run(database_url, lambda connection: list_reclassifications(connection, stage.space_id))

    return read


def _run(url: str, work: Callable[[psycopg.AsyncConnection], Any]) -> Any:
    async def main() -> Any:
        async with await psycopg.AsyncConnection.connect(url) as connection:
            return await work(connection)

    return asyncio.run(main())


def reclassify(stage: Stage, limit: int = 2000) -> int:
    """Reclassify everything, and return the number of batches."""
    pieces = 0
    while reclassify_next(stage.connection, stage.space_id, limit):
        pieces += 1
    return pieces


def read_touchpoints(stage: Stage) -> list[tuple[Any, ...]]:
    return stage.rows("touchpoints", "id", "source_id", "source_rule", "keyword", "adset_name")


def test_it_works(stage: Stage, set_names: SetNames, list_unfinished: Callable[..., Any]) -> None:
    first, second, third, order = stage.run(
        hit(url=LINK, trk_token="one"),
        touch(url=LINK, source=None, email="two@b.org"),
        event(url=LINK, email="three@b.org", trk_type="cpc"),
        event(email="two@b.org", event_time=T0 + MINUTE),
    )
    stage.connection.execute("DELETE FROM pending_paths WHERE space_id = %s", (stage.space_id,))
    set_names(stage, {"FB-Paid": "facebook_ads"})
    (job,) = list_unfinished(stage)
    assert (job.name, job.changed, job.share, job.percentage) == ("fb-paid", 0, 0, "0 %")
    assert stage.space_id in RECLASSIFICATION_DUTY.waiting(stage.connection)
    assert reclassify(stage, 1) == 4
    own_source = (PAID, "own_utm_source", None, "boots")
    paid = (PAID, "own_utm_source_paid", None, "boots")
    assert read_touchpoints(stage) == [(first, *own_source), (second, *own_source), (third, *paid)]
    assert stage.rows("hits", "source_id", "touch->>'rule'") == [(PAID, "own_utm_source")]
    assert all(mask & 1 << PAID for mask in stage.values("contacts", "source_mask"))
    masks = dict(stage.rows("events", "id", "source_mask"))
    assert all(masks[touchpoint] & 1 << PAID for touchpoint in (third, order))
    assert set(stage.values("pending_paths", "event_id")) == {third, order}
    assert list_unfinished(stage) == []
    assert stage.space_id not in RECLASSIFICATION_DUTY.waiting(stage.connection)
    assert not reclassify_next(stage.connection, stage.space_id)


def test_a_name_that_is_removed_or_stands_for_another(stage: Stage, set_names: SetNames) -> None:
    stage.run(hit(url=LINK, trk_token="one"), event(url=LINK, email="a@b.org", trk_type="cpc"))
    before = read_touchpoints(stage)
    for source in ("facebook_ads", "email", "facebook_ads"):
        set_names(stage, {"fb-paid": source})
        reclassify(stage)
        assert {row[1] for row in read_touchpoints(stage)} == {SOURCE_IDS[source]}
    set_names(stage, {"fb-paid": ""})
    reclassify(stage)
    assert read_touchpoints(stage) == before


def test_nothing_is_done_for_a_name_that_does_not_change(
    stage: Stage, set_names: SetNames, list_unfinished: Callable[..., Any]
) -> None:
    set_names(stage, {"fb-paid": "facebook_ads"})
    assert list_unfinished(stage) == [], "nothing is stored"
    stage.run(hit(url=LINK, trk_token="one"))
    set_names(stage, {"fb-paid": "facebook_ads", "other": ""})
    assert list_unfinished(stage) == []


def test_names_go_together(stage: Stage, set_names: SetNames, list_unfinished: Callable[..., Any]) -> None:
    links = [f"{PAGE}?utm_source={name}" for name in "abcabc"]
    stage.run(*(hit(url=url, trk_token=f"{index}") for index, url in enumerate(links)))
    set_names(stage, {"a": "email", "b": "sms"})
    assert reclassify_next(stage.connection, stage.space_id, 2)
    set_names(stage, {"c": "bing_ads"})
    assert [(job.name, job.changed) for job in list_unfinished(stage)] == [("a", 1), ("b", 1), ("c", 0)]
    assert reclassify_next(stage.connection, stage.space_id, 6), "c catches up"
    assert len({job.share for job in list_unfinished(stage)}) == 1
    assert reclassify(stage, 5) == 1
    assert stage.values("touchpoints", "source_id") == sorted(
        SOURCE_IDS[name] for name in ("email", "sms", "bing_ads") * 2
    )


def test_what_is_accepted_meanwhile(stage: Stage, set_names: SetNames) -> None:
    """Rows that wait in the inbox when a name changes get the new source, before and after the
    reclassification.
    """
    stage.run(hit(url=LINK, trk_token="one"))
    stage.put(hit(url=LINK, trk_token="two"))
    set_names(stage, {"fb-paid": "facebook_ads"})
    reclassify(stage)
    stage.process()
    stage.run(hit(url=LINK, trk_token="three"))
    assert stage.values("touchpoints", "source_id") == [PAID] * 3


def test_the_command_says_how_far_it_is(
    stage: Stage, set_names: SetNames, database_url: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)

    def list_names() -> Any:
        assert main(["source", "names", "--space", str(stage.space_id), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    stage.run(hit(url=LINK, trk_token="one"), hit(url=PAGE, trk_token="two"))
    set_names(stage, {"fb-paid": "facebook_ads"})
    row = {"name": "fb-paid", "source": "facebook_ads", "reclassified": "0 %", "changed": 0}
    assert list_names() == [row]
    reclassify_next(stage.connection, stage.space_id, 1)
    (row,) = list_names()
    assert row["changed"] == 1
    assert row["reclassified"] not in ("0 %", "all")
    reclassify(stage)
    assert [row["reclassified"] for row in list_names()] == ["all"]
    set_names(stage, {"fb-paid": ""})
    assert [(row["name"], row["source"]) for row in list_names()] == [("fb-paid", None)]
    reclassify(stage)
    assert list_names() == []


def test_a_crash_loses_nothing(stage: Stage, set_names: SetNames, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.run(hit(url=LINK, trk_token="one"), hit(url=LINK, trk_token="two"))
    set_names(stage, {"fb-paid": "facebook_ads"})
    reclassify_next(stage.connection, stage.space_id, 1)
    halfway_dump = stage.dump()
    with monkeypatch.context() as patch:
        patch.setattr(reclassification, "failpoint", _die)
        with pytest.raises(KeyboardInterrupt):
            reclassify_next(stage.connection, stage.space_id, 1)
    assert stage.dump() == halfway_dump
    reclassify(stage)
    assert stage.values("touchpoints", "source_id") == [PAID, PAID]


def _die(_: str) -> None:
    raise KeyboardInterrupt


def test_a_row_that_fails_stays_and_blocks_none(
    stage: Stage, set_names: SetNames, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = stage.run(
        *(hit(url=LINK + extra, trk_token=f"one{extra}") for extra in ("", "&bad", "&c"))
    )
    set_names(stage, {"fb-paid": "facebook_ads"})
    classify = reclassification.classify_anew

    def fail(error: Any, *arguments: Any) -> Any:
        if "bad" in error.url:
            raise ValueError
        return classify(error, *arguments)

    monkeypatch.setattr(reclassification, "classify_anew", fail)
    reclassify(stage)
    assert dict(stage.rows("touchpoints", "id", "source_id")) == {
        first: PAID, second: REFERRAL, third: PAID,
    }  # fmt: skip


def test_a_space_that_is_locked_is_left_for_later(
    stage: Stage, set_names: SetNames, database_url: str
) -> None:
    stage.run(hit(url=LINK, trk_token="one"))
    set_names(stage, {"fb-paid": "facebook_ads"})
    with psycopg.connect(database_url) as other_connection:
        other_connection.execute("SELECT FROM space_locks WHERE space_id = %s FOR UPDATE", (stage.space_id,))
        assert not reclassify_next(stage.connection, stage.space_id)
    assert reclassify(stage) == 1


def test_contacts_that_were_merged(stage: Stage, set_names: SetNames) -> None:
    """In case the contacts are separated again, the events of both are found by the source."""
    stage.run(
        hit(url=LINK, trk_token="one"),
        person(trk_token="one", email="a@b.org"),
        hit(url=PAGE, trk_token="two"),
        event(trk_token="two", email="a@b.org", event_time=T0 + MINUTE),
    )
    assert any(stage.values("contacts", "merged_into"))
    set_names(stage, {"fb-paid": "facebook_ads"})
    reclassify(stage)
    assert all(mask & 1 << PAID for mask in stage.values("contacts", "source_mask"))


TOKENS = ("one", "two")
QUERIES = (
    "", "?utm_source=fb-paid", "?utm_source=fb-paid&utm_term=x", "?utm_source=fb-paid&gclid=1",
    "?utm_source=email&utm_campaign=5", "?utm_source=tube&gclid=2", "?gclid=1",
)  # fmt: skip


def some_item(number: int, time: int) -> Item:
    """Return a page view, touchpoint or event, at least half an hour from others with its source."""
    dice = Random(number)
    moment, url = T0 + time * 31 * MINUTE, PAGE + dice.choice(QUERIES)
    identifiers: dict[str, Any] = {"trk_token": dice.choice(TOKENS)}
    referrer = dice.choice((None, "https://www.google.com/", "https://news.example/"))
    kind = dice.choice("vvvte")
    if kind == "t":
        return touch(**identifiers, occurred_at=moment, url=url, source=None, referrer=referrer)
    if kind == "e":
        return event(**identifiers, event_time=moment, url=url, trk_type=dice.choice((None, "cpc")))
    key = str(UUID(int=dice.getrandbits(128), version=4))
    return hit(**identifiers, occurred_at=moment, url=url, key=key, referrer=referrer)


def put_both(stages: tuple[Stage, Stage], items: list[Item], batch: int) -> None:
    for stage in stages:
        accepted_items: list[Accepted] = list(items)
        stage.put(*accepted_items)
        stage.process(batch)


def facts(stage: Stage) -> dict[str, Any]:
    """Return everything except the masks, which may have more bits than needed."""
    dump = stage.dump()
    del dump["contacts"], dump["events"]
    return dump


def count_unmasked(stage: Stage) -> int:
    """Count events that lack the source of an earlier touchpoint."""
    query = (
        "SELECT count(*) FROM events e JOIN touchpoints t USING (space_id, contact_id)"
        " WHERE e.space_id = %s AND t.occurred_at <= e.event_time"
        " AND e.source_mask & (1::bigint << t.source_id) = 0"
    )
    row = stage.connection.execute(query, (stage.space_id,)).fetchone()
    assert row is not None
    return row[0]


@settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=HISTORIES)
@given(
    numbers=st.lists(st.integers(0, 2**30), min_size=2, max_size=12),
    late_numbers=st.lists(st.integers(0, 2**30), max_size=4),
    order=st.randoms(use_true_random=False),
    limit=st.integers(1, 4),
)
def test_the_past_is_what_it_would_have_been(
    connection: psycopg.Connection, set_names: SetNames,
    numbers: list[int], late_numbers: list[int], order: Random, limit: int,
) -> None:  # fmt: skip
    """Names added at the beginning and names added later give the same result, even if page views arrive late
    that others depend on.
    """
    first_stage, second_stage = new_stage(connection), new_stage(connection)
    items = [some_item(number, index) for index, number in enumerate(numbers)]
    middle_items = [some_item(number, index) for index, number in enumerate(late_numbers, start=len(numbers))]
    order.shuffle(items)
    names = {"fb-paid": "facebook_ads", "tube": "youtube_ads", "email": "sms"}
    set_names(first_stage, names)
    set_names(second_stage, {"fb-paid": "email"})
    put_both((first_stage, second_stage), items, limit)
    set_names(second_stage, names)
    reclassify(second_stage, limit)
    assert facts(second_stage) == facts(first_stage)
    put_both((first_stage, second_stage), middle_items, limit)
    assert facts(second_stage) == facts(first_stage)
    assert (count_unmasked(first_stage), count_unmasked(second_stage)) == (0, 0)
