"""The cache of reports: a repeated report reads only changed data, and returns the same figures as without
the cache.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from itertools import count, islice
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from headwater.attribution.paths import reader, scan_plan
from headwater.attribution.paths.cache import Cache, Key, PathSource, estimate_size
from headwater.attribution.paths.changes import NOTE_EVENTS
from headwater.attribution.paths.lookup import NumberMap
from headwater.attribution.paths.scan_plan import Block
from headwater.attribution.paths.upkeep import forget_space
from headwater.reports.engine import block_sums, report_reader
from headwater.reports.engine.block_sums import Addition, BlockSums, Fingerprint
from headwater.reports.query import FigureColumn
from tests.reports import answers
from tests.reports.asking import Group, Measure, ask
from tests.reports.court import Court, build_all
from tests.reports.histories import History, Step, histories
from tests.reports.playing import World, new_world, play
from tests.reports.questions import some_period, some_question
from tests.support.campaigns import campaign_size
from tests.support.factories import Stage

HISTORIES = campaign_size("HEADWATER_HISTORIES", 2, 10)
QUESTIONS = 2


class Letter(str):
    """A subject whose sum is its capital; "-" has no sums."""

    __slots__ = ()

    @property
    def timeless(self) -> str:
        return str(self)

    def clip(self, _: Block, /) -> Key | None:
        return None if self == "-" else ()


CAPITALS = Addition[Letter, str](
    "letters", lambda letters, _: [letter.upper() for letter in letters], nothing=""
)
NO_PATHS = reader.PathData({}, (), 0, 0)
HERE = PathSource("here", 1, 1)


@pytest.fixture(autouse=True)
def _empty_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    use_cache(monkeypatch, Cache())


def use_cache(patch: pytest.MonkeyPatch, cache: Cache) -> None:
    """Make reports use this cache."""
    for module in (reader, block_sums, report_reader):
        patch.setattr(module, "cache", cache)


def count_reads(patch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of events in every block that is read."""
    counts: list[int] = []
    join, live = reader.PathData.join, reader.PathReader.read_live

    def join_parts(parts: Any) -> Any:
        paths = join(parts)
        counts.append(paths.events)
        return paths

    async def read(self: Any, event_ids: Any) -> Any:
        counts.append(len(event_ids))
        return await live(self, event_ids)

    patch.setattr(reader.PathData, "join", join_parts)
    patch.setattr(reader.PathReader, "read_live", read)
    return counts


def test_it_works(database_url: str, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """New customers depend on all past orders, the other figures on the period's events alone."""
    contact_id = stage.contact()
    stage.touchpoint(contact_id, "email")
    for amount in (5, 7):
        stage.event(contact_id, amount=amount)
    forget_space(stage.connection, stage.space_id)
    build_all(stage.connection, stage.space_id)
    query_fields: dict[str, Any] = {
        "measures": (Measure.CREDITED_REVENUE, Measure.NEW_CUSTOMERS),
        "group_by": (Group.SOURCE,),
    }
    first = ask(database_url, stage.space_id, **query_fields)
    counts = count_reads(monkeypatch)
    second_report = ask(database_url, stage.space_id, **query_fields)
    assert replace(second_report, snapshot=first.snapshot) == first
    assert counts == []
    linear_report = ask(database_url, stage.space_id, **query_fields | {"models": ("linear",)})
    assert linear_report.total.figures != {}
    assert counts == [2], "another question is about the same first orders"


def test_changes_that_wait(database_url: str, stage: Stage) -> None:
    """Every change of an event is noticed, even while an earlier one is pending."""
    event_id = stage.event(stage.contact(), amount=5)
    forget_space(stage.connection, stage.space_id)
    for amount in (5, 6, 7, 8):
        if amount != 7:
            build_all(stage.connection, stage.space_id)
            revenue(database_url, stage)
        values = {"space_id": stage.space_id, "event_ids": [event_id], "amount": amount}
        with stage.connection.transaction():
            stage.connection.execute(
                "UPDATE events SET amount = %(amount)s WHERE space_id = %(space_id)s", values
            )
            stage.connection.execute(NOTE_EVENTS, values)
        assert revenue(database_url, stage) == amount
    build_all(stage.connection, stage.space_id)
    assert revenue(database_url, stage) == 8


def test_pending_events_are_read_once_for_all(
    database_url: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events read with their touches also serve a report that needs only the events."""
    contact_id = stage.contact()
    stage.touchpoint(contact_id, "email")
    event_id = stage.event(contact_id, amount=5)
    forget_space(stage.connection, stage.space_id)
    build_all(stage.connection, stage.space_id)
    values = {"space_id": stage.space_id, "event_ids": [event_id]}
    stage.connection.execute(NOTE_EVENTS, values)
    live, read_live = list[int](), reader.PathReader.read_live

    async def read(self: Any, event_ids: Any) -> Any:
        live.append(len(event_ids))
        return await read_live(self, event_ids)

    monkeypatch.setattr(reader.PathReader, "read_live", read)
    measures = (Measure.CREDITED_REVENUE,)
    ask(database_url, stage.space_id, measures=measures, group_by=(Group.SOURCE,))
    assert revenue(database_url, stage) == 5
    assert live == [1]


def revenue(database_url: str, stage: Stage) -> object:
    report = ask(database_url, stage.space_id, measures=(Measure.REVENUE,))
    return report.total.figures[FigureColumn(Measure.REVENUE)]


def test_changes_on_a_damaged_day_count_once(database_url: str, stage: Stage) -> None:
    """All events of a damaged day are read from the tables, so its changes are not read besides."""
    contact_id = stage.contact()
    event_ids = [stage.event(contact_id, amount=amount) for amount in (5, 7)]
    forget_space(stage.connection, stage.space_id)
    build_all(stage.connection, stage.space_id)
    values = {"space_id": stage.space_id, "event_ids": event_ids[:1]}
    stage.connection.execute(NOTE_EVENTS, values)
    stage.connection.execute(
        "UPDATE path_segments SET seconds = seconds || '\\x00'::bytea WHERE space_id = %s", (stage.space_id,)
    )
    assert revenue(database_url, stage) == 12


def test_ranges_that_overlap(database_url: str, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A day is read once for all ranges; a day that is cut is read again."""
    monkeypatch.setattr(scan_plan, "BLOCK_SIZE", 1)
    contact_id = stage.contact()
    for day in range(1, 10):
        stage.event(contact_id, amount=day, event_time=f"2026-05-0{day} 12:00")
    forget_space(stage.connection, stage.space_id)
    build_all(stage.connection, stage.space_id)
    counts = count_reads(monkeypatch)
    for first, last, hour, days_read in ((3, 7, 23, 5), (1, 9, 23, 4), (4, 6, 9, 1)):
        report = ask(
            database_url, stage.space_id, measures=(Measure.REVENUE,),
            start=datetime(2026, 5, first), end=datetime(2026, 5, last, hour, 59, 59),  # noqa: DTZ001 - local times
        )  # fmt: skip
        whole_days = range(first, last + (hour == 23))
        assert report.total.figures[FigureColumn(Measure.REVENUE)] == sum(whole_days)
        assert sum(counts) == days_read
        counts.clear()


def test_an_earlier_order_that_comes_late(database_url: str, stage: Stage) -> None:
    """A customer is no longer new in May when an April order arrives."""
    contact_id = stage.contact()
    stage.event(contact_id, amount=5)
    for new_customers in (1, 0):
        forget_space(stage.connection, stage.space_id)
        build_all(stage.connection, stage.space_id)
        report = ask(database_url, stage.space_id, measures=(Measure.NEW_CUSTOMERS,))
        assert report.total.figures[FigureColumn(Measure.NEW_CUSTOMERS)] == new_customers
        stage.event(contact_id, amount=5, event_time="2026-04-10")


def test_it_is_never_stale(court: Court, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some questions about various periods, after every step of random histories, with the cache and
    without.
    """

    def hold_against_fresh(world: World, _: Step) -> None:
        if dice.random() < 0.4:
            build_all(world.connection, world.space_id)
        for question in questions:
            cached_answer = court.runner.run(answers.answer(court.reader, world.space_id, question))
            with pytest.MonkeyPatch.context() as patch:
                use_cache(patch, Cache())
                fresh = court.runner.run(answers.answer(court.reader, world.space_id, question))
            assert cached_answer == fresh, question

    @given(history=histories, seed=st.integers(0, 2**16))
    @settings(
        max_examples=HISTORIES,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),
    )
    def judge(history: History, seed: int) -> None:
        nonlocal dice, questions
        dice = Random(seed)
        monkeypatch.setattr(scan_plan, "BLOCK_SIZE", dice.choice((1, 5, 500_000)))
        random_questions = (some_question(dice) for _ in count())
        profile_questions = [
            *islice(
                (question for question in random_questions if question["query_mode"] == "profile"), QUESTIONS
            )
        ]
        questions = [question | some_period(dice) for question in profile_questions for _ in range(2)]
        play(new_world(court.connection, court.runner, court.reader, history), history,
             (hold_against_fresh,))  # fmt: skip

    dice, questions = Random(0), list[dict[str, Any]]()
    judge()


def test_what_was_not_used_for_longest_goes_first() -> None:
    array_size = estimate_size(np.zeros(1000, dtype=np.int64))
    cache = Cache(3 * (array_size + 200))
    for name in "abc":
        cache.put((name,), np.zeros(1000, dtype=np.int64))
    cache.get(("a",))
    cache.put(("d",), np.zeros(1000, dtype=np.int64))
    assert [name for name in "abcd" if (name,) in cache] == ["a", "c", "d"]
    cache.put(("e",), np.zeros(3000, dtype=np.int64))
    assert ("e",) not in cache, "more than half of the room"


def test_less_room_lets_go_at_once() -> None:
    cache = Cache()
    for name in "abc":
        cache.put((name,), np.zeros(1000, dtype=np.int64))
    cache.resize(2 * (estimate_size(np.zeros(1000, dtype=np.int64)) + 200))
    assert [name for name in "abc" if (name,) in cache] == ["b", "c"]
    cache.resize(0)
    cache.put(("d",), 1)
    assert not any((name,) in cache for name in "abcd")


def test_the_size_of_what_is_held() -> None:
    """A slice of an array counts as the whole array."""
    assert estimate_size(np.zeros(10_000)[:10]) >= 80_000
    assert estimate_size({"a": (np.zeros(1000), [np.zeros(1000)])}) >= 16_000


def test_fingerprints() -> None:
    """Equal values have equal digests, even from different objects."""
    assert digest(1, np.array([1, 2])) == digest(1, np.array([1, 2]))
    assert digest(1, np.array([1, 2])) != digest(1, np.array([1, 3]))
    assert digest(1, np.array([1, 2])) != digest(1, np.array([1, 2], dtype=np.int32))
    assert digest(("a",), ("b",)) != digest(("a", "b"), ())
    assert digest("1") != digest(1)
    assert digest(frozenset("abc")) == digest(frozenset("cab"))
    maps = [NumberMap(np.array([1, 2]), np.array([3, value]), 0) for value in (4, 4, 5)]
    assert digest(maps[0]) == digest(maps[1]) != digest(maps[2])
    with pytest.raises(TypeError):
        digest(object())


def digest(*parts: object) -> bytes:
    return Fingerprint(parts).digest


def test_only_missing_sums_are_added_up() -> None:
    block, unknown = Block(b"1", *[reader.date.min] * 2), Block(None, *[reader.date.min] * 2)
    sums = make_sums("ab")
    assert not sums.is_cached(block)
    assert sums.add_up(block, NO_PATHS) == ["A", "B"]
    assert sums.complete(block, ["A", "B"]) == ["A", "B"]
    more = make_sums("bc")
    assert not more.is_cached(block)
    assert more.add_up(block, NO_PATHS) == ["C"]
    assert more.complete(block, ["C"]) == ["B", "C"]
    reordered_sums = make_sums("ca")
    assert reordered_sums.is_cached(block)
    assert list(reordered_sums.find_cached()) == [["C", "A"]]
    assert not reordered_sums.is_cached(unknown)
    other_sums = BlockSums(HERE._replace(database=2), [Letter("a")], CAPITALS)
    assert not other_sums.is_cached(block)
    assert more.complete(unknown, ["B", "C"]) == ["B", "C"]


def make_sums(letters: str) -> BlockSums[Letter, str]:
    return BlockSums(HERE, list(map(Letter, letters)), CAPITALS)


def test_a_block_without_sums_for_a_subject() -> None:
    block = Block(b"1", *[reader.date.min] * 2)
    sums = make_sums("a-")
    assert sums.add_up(block, NO_PATHS) == ["A"]
    assert sums.complete(block, ["A"]) == ["A", ""]
