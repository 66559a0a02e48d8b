"""Postings: their credited events and sources, compared with the models in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.attribution.models import MODELS, WINDOWS
from headwater.attribution.paths import postings as postings_module
from headwater.attribution.paths.path_data import OLDER_COLUMNS, Column, PathData
from headwater.attribution.paths.postings import Postings, count_credited, make_postings, read_postings
from headwater.attribution.paths.segments import DamagedSegment
from headwater.sources.catalogue import SOURCE_IDS, source_mask
from tests.models.attribution import Touch, weights

SOME_SOURCES = ("facebook_ads", "google_ads", "google_organic", "email", "direct")
TRAINED_MODEL = dict.fromkeys(SOME_SOURCES, Fraction(1))
"""Every source has a weight here, because the sources with a weight depend on the trained model."""
MIDNIGHT = datetime(2026, 5, 13, tzinfo=UTC)
DAY = 86_400
AGES = sorted({days * DAY + nudge for days in WINDOWS for nudge in (-1, 0, 1) if days or nudge >= 0})

# People, each with touches by age before midnight, and events by second of the day.
Person = tuple[list[tuple[int, str]], list[int]]
people = st.lists(
    st.tuples(
        st.lists(st.tuples(st.sampled_from(AGES), st.sampled_from(SOME_SOURCES)), max_size=8),
        st.lists(st.sampled_from((0, 1, DAY - 1)), max_size=3),
    ),
    max_size=4,
)


def list_path(touches: Sequence[tuple[int, str]], event_second: int, window: int) -> list[Touch]:
    """Return the touches within the window of an event at a second of the day, oldest first."""
    oldest_first = sorted(touches, key=lambda touch: -touch[0])
    return [
        Touch(nth, 0, None, MIDNIGHT - timedelta(seconds=age), source)
        for nth, (age, source) in enumerate(oldest_first)
        if age + event_second >= 0 and (window == 0 or age + event_second <= window * DAY)
    ]


def pack(persons: Sequence[Person]) -> tuple[PathData, dict[int, tuple[Person, int]]]:
    """Return the paths of these people's events, and the events by id."""
    rows: dict[Column, list[int]] = {column: [] for column in Column}
    events: dict[int, tuple[Person, int]] = {}
    for person in persons:
        start = len(rows[Column.SOURCES])
        rows[Column.SOURCES] += [SOURCE_IDS[t.source] for t in list_path(person[0], 0, 0)]
        for second in person[1]:
            lengths = {window: len(list_path(person[0], second, window)) for window in WINDOWS}
            events[1000 + len(events)] = person, second
            rows[Column.EVENT_IDS].append(999 + len(events))
            rows[Column.SECONDS].append(int(MIDNIGHT.timestamp()) + second)
            rows[Column.STARTS].append(start)
            rows[Column.LENGTHS].append(lengths[0])
            for days, column in OLDER_COLUMNS.items():
                rows[column].append(lengths[0] - lengths[days])
    columns = {column: np.array(values, dtype=np.int64) for column, values in rows.items()}
    return PathData(columns, ("purchase",), len(events), len(rows[Column.SOURCES])), events


def list_credit(postings: Postings, model: str, window: int) -> Counter[tuple[int, int, int]]:
    """Return event, second of the day and source of all credit under a model in a window."""
    counts: Counter[tuple[int, int, int]] = Counter()
    begin = 0
    for source, end in zip(postings.sources, postings.ends, strict=True):
        ids, seconds, _ = read_postings(postings.data[begin:end], source, model, window)
        counts.update(zip(ids.tolist(), seconds.tolist(), [source] * len(ids), strict=True))
        begin = end
    assert begin == len(postings.data)
    return counts


def test_it_works() -> None:
    paths, _ = pack([([(10 * DAY, "email"), (2 * DAY, "google_ads"), (DAY, "direct")], [0])])
    postings = make_postings(paths)
    assert postings.sources == sorted(SOURCE_IDS[name] for name in ("email", "google_ads", "direct"))
    assert list_credit(postings, "last_touch", 7) == {(1000, 0, SOURCE_IDS["direct"]): 1}
    assert list_credit(postings, "last_non_direct_touch", 1) == {(1000, 0, SOURCE_IDS["direct"]): 1}
    assert list_credit(postings, "first_touch", 7) == {(1000, 0, SOURCE_IDS["google_ads"]): 1}
    assert len(list_credit(postings, "linear", 0)) == 3


@given(people)
@settings(deadline=None)
def test_every_model_and_window(persons: list[Person]) -> None:
    paths, events = pack(persons)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings_module, "MAX_RARE_TOUCHES", 100)
        postings = make_postings(paths)
    assert not postings.common_sources
    for model, window in product(MODELS, WINDOWS):
        right = {
            (event_id, second, SOURCE_IDS[touch.source])
            for event_id, (person, second) in events.items()
            for touch, _ in weights(model, list_path(person[0], second, window), TRAINED_MODEL)
        }
        credit_counts = list_credit(postings, model, window)
        if model == "linear_paid":  # uses the bit of linear, read only for paid sources
            paid = {SOURCE_IDS[name] for name in SOME_SOURCES if name.endswith("_ads")}
            credit_counts = Counter({key: count for key, count in credit_counts.items() if key[2] in paid})
        assert credit_counts == dict.fromkeys(right, 1), (model, window)
        for name in SOME_SOURCES:
            if model != "linear_paid" or name.endswith("_ads"):
                source_events = {key[0] for key in right if key[2] == SOURCE_IDS[name]}
                counts = count_credited(paths, [SOURCE_IDS[name]], model, window)
                assert set(paths[Column.EVENT_IDS][counts > 0].tolist()) == source_events


@pytest.mark.parametrize("number", range(16 + 2 * (1 + 8)))
def test_damage_is_noticed(number: int) -> None:
    paths, _ = pack([([(DAY, "email")], [0, 1])])
    data, email = make_postings(paths).data, SOURCE_IDS["email"]
    assert read_postings(data, email, "linear", 0)[2] == 2
    damaged = data[:number] + bytes([data[number] ^ 1]) + data[number + 1 :]
    for wrong, source in ((damaged, email), (data[:number], email), (data, email + 1)):
        with pytest.raises(DamagedSegment):
            read_postings(wrong, source, "linear", 0)


def many_events(touches: dict[str, int], events: int) -> PathData:
    """Return events at one moment; for each source, the last `count` events have a touch of it."""
    sources = [SOURCE_IDS[name] for name in touches]
    rows = [[nth >= events - count for count in touches.values()] for nth in range(events)]
    lengths = [sum(row) for row in rows]
    columns = {column: np.zeros(events, dtype=np.int64) for column in Column}
    columns[Column.EVENT_IDS] = np.arange(events)
    columns[Column.LENGTHS] = np.array(lengths)
    columns[Column.STARTS] = np.cumsum(lengths) - lengths
    columns[Column.SOURCES] = np.array(
        [source for row in rows for source, has in zip(sources, row, strict=True) if has], dtype=np.int64
    )
    return PathData(columns, ("purchase",), events, sum(lengths))


def test_common_sources_have_no_postings() -> None:
    postings = make_postings(many_events({"email": 2400, "yelp": 101, "capterra": 100}, 2400))
    assert postings.common_sources == source_mask([SOURCE_IDS["email"], SOURCE_IDS["yelp"]])
    assert postings.sources == [SOURCE_IDS["capterra"]]
    assert len(list_credit(postings, "linear", 0)) == 100


def test_of_few_events_every_source_has_postings() -> None:
    postings = make_postings(many_events({"email": 4, "yelp": 5}, 20))
    assert postings.common_sources == source_mask([SOURCE_IDS["yelp"]])
    assert postings.sources == [SOURCE_IDS["email"]]


def test_a_segment_without_touches_has_no_postings() -> None:
    assert make_postings(many_events({}, 3)) == Postings(0, [], [], b"")


def test_a_customer_with_very_many_touches_and_events() -> None:
    """Pairing both would take a hundred million pairs."""
    count = 10_000
    columns = {column: np.zeros(count, dtype=np.int64) for column in Column}
    columns[Column.EVENT_IDS] = np.arange(count)
    columns[Column.LENGTHS] = np.full(count, count)
    columns[Column.SOURCES] = np.full(count, SOURCE_IDS["email"])
    assert make_postings(PathData(columns, ("purchase",), count, count)).sources == []
