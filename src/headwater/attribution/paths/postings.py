"""Postings: of every source that is rare in a segment, the events that have a touch of it, each
with the models and windows by which the source has credit. Of other sources the paths tell. Pure.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from headwater.attribution.credits import Crediting, TouchSlices, are_sources_among
from headwater.attribution.models import MODELS, WINDOWS, CreditedTouches
from headwater.attribution.paths.packed_columns import PackedColumn, pack, unpack
from headwater.attribution.paths.path_data import OLDER, Column, IntArray, PathData
from headwater.attribution.shares import count_before
from headwater.sources.catalogue import source_mask

RARE_SHARE = 24
"""A source is rare in a segment when all its touches stand on paths, counted on each, at most as
often as one in so many events. So 62 sources have at most 2.6 postings an event, of 31 octets.
"""
FEW = 4
"""So often they may stand on paths however few events the segment has."""

# The postings of a source, as stored: a checksum of the rest and of the source's number; how many
# they are, and the least id; the ids above it, each in as many octets as the largest needs; the
# marks, of eight octets. A mark is the event's second of the day (in UTC), above bits of models and
# windows.
_CHECKSUM = struct.Struct("<I")
_HEADER = struct.Struct("<Iq")
_MARK = "<i8"
POSTING_OCTETS = 12
"""What a posting usually takes."""

# Numbers of models: they are in the database, so append, never reorder. Models that share an amount
# out credit every source in the window (that counts for them), and so have one number.
_PLACES = {
    "first_touch": 0,
    "last_touch": 1,
    "linear": 2,
    "linear_paid": 2,
    "u_shaped": 2,
    "time_decay": 2,
    "markov": 2,
    "shapley_distinct": 2,
    "first_platform_touch": 3,
    "last_platform_touch": 4,
    "last_non_direct_touch": 5,
}
_PICKS = [name for name in _PLACES if MODELS[name].take is not CreditedTouches.EACH]
_READ = (Column.EVENT_IDS, Column.SECONDS, Column.STARTS, Column.LENGTHS, *OLDER.values(), Column.SOURCES)
_SECONDS_FROM = len(WINDOWS) * (1 + max(_PLACES.values()))
_SECONDS_A_DAY = 86_400


class DamagedPostings(Exception):
    """Postings are not what was stored."""


@dataclass(frozen=True)
class Postings:
    """The postings of a segment, ready to be stored."""

    common_sources: int
    """The sources that are not rare, bit n for number n."""
    sources: list[int]
    """The rare ones, ascending."""
    ends: list[int]
    """Of each rare source, one past its last octet."""
    data: bytes


def make_postings(paths: PathData) -> Postings:
    """Return the postings of a segment's paths."""
    counts = np.bincount(paths[Column.SOURCES], weights=paths.events_of_touches())
    often = counts.astype(np.int64)  # on how many paths, counting every touch
    rare = (often > 0) & (often <= max(FEW, paths.events // RARE_SHARE))
    sources: list[int] = np.flatnonzero(rare).tolist()
    slices = _slices(paths, sources) if sources else []
    return Postings(
        common_sources=source_mask(np.flatnonzero((often > 0) & ~rare).tolist()),
        sources=sources,
        ends=np.cumsum([len(each) for each in slices], dtype=np.int64).tolist(),
        data=b"".join(slices),
    )


def read_postings(data: bytes, source: int, model: str, window_days: int) -> tuple[IntArray, IntArray, int]:
    """Return the events of which a source has credit by a model in a window, their seconds of the
    day, and how many postings there are in all. Raises DamagedPostings.
    """
    body = memoryview(data)[_CHECKSUM.size :]
    if len(body) < _HEADER.size or _CHECKSUM.pack(zlib.crc32(body, source)) != data[:4]:
        raise DamagedPostings
    count, base = _HEADER.unpack_from(body)
    at = len(body) - 8 * count
    marks = np.frombuffer(body[at:], dtype=_MARK)
    has_credit = (marks & _bits_of(model)[WINDOWS.index(window_days)]) != 0
    event_ids = unpack(PackedColumn(base, bytes(body[_HEADER.size : at])), count)
    return event_ids[has_credit], marks[has_credit] >> _SECONDS_FROM, count


def columns_of(window_days: int) -> tuple[Column, ...]:
    """Return the columns that `count_credited` reads, and those that tell the events apart."""
    older = (OLDER[window_days],) if window_days else ()
    return (Column.EVENT_IDS, Column.SECONDS, Column.STARTS, Column.LENGTHS, *older, Column.SOURCES)


def count_credited(paths: PathData, source_ids: Collection[int], model: str, window_days: int) -> IntArray:
    """Return of each event how many touches of some sources have credit by a model in a window."""
    starts, sources = paths[Column.STARTS], paths[Column.SOURCES]
    begins = starts + paths[OLDER[window_days]] if window_days else starts
    ends = starts + paths[Column.LENGTHS]
    if MODELS[model].take is CreditedTouches.EACH:
        before = count_before(are_sources_among(source_ids, sources))
        return before[ends] - before[begins]
    counts = np.zeros(paths.events, dtype=np.int64)
    picked = Crediting(TouchSlices(begins, ends), sources).credit(model)
    counts[picked.events] = are_sources_among(source_ids, sources[picked.touches])
    return counts


def _bits_of(model: str) -> IntArray:
    """Return the bit of a model for each window."""
    return np.left_shift(1, len(WINDOWS) * _PLACES[model] + np.arange(len(WINDOWS)))


def _slices(paths: PathData, sources: list[int]) -> list[bytes]:
    """Return the postings of each of some sources, as they are stored."""
    few = _with_touches_of(sources, paths)
    starts = few[Column.STARTS]
    crediting = Crediting(TouchSlices(starts, starts + few[Column.LENGTHS]), few[Column.SOURCES])
    pairs = crediting.touches_of(frozenset(sources))
    bits = _bits(few, pairs.events, pairs.touches)
    of_source = few[Column.SOURCES][pairs.touches]
    seconds, event_ids = few[Column.SECONDS] % _SECONDS_A_DAY, few[Column.EVENT_IDS]
    stored: list[bytes] = []
    for source in sources:
        chosen = np.flatnonzero(of_source == source)
        events, firsts = np.unique(pairs.events[chosen], return_index=True)
        marks = seconds[events] << _SECONDS_FROM
        marks |= np.bitwise_or.reduceat(bits[chosen], firsts)
        stored.append(_packed(source, event_ids[events], marks))
    return stored


def _with_touches_of(sources: list[int], paths: PathData) -> PathData:
    """Return the events that have a touch of some sources, with their whole paths."""
    starts = paths[Column.STARTS]
    before = count_before(are_sources_among(sources, paths[Column.SOURCES]))
    chosen = before[starts] < before[starts + paths[Column.LENGTHS]]
    columns = {column: paths[column] for column in _READ}
    some = PathData(columns, paths.event_names, paths.events, paths.touches)
    return some.select(chosen).without_unused()


def _packed(source: int, event_ids: IntArray, marks: IntArray) -> bytes:
    ids = pack(event_ids)
    body = _HEADER.pack(len(event_ids), ids.base) + ids.data + marks.astype(_MARK).tobytes()
    return _CHECKSUM.pack(zlib.crc32(body, source)) + body


def _bits(paths: PathData, events: IntArray, touches: IntArray) -> IntArray:
    """Return for pairs of an event and a touch on its path by which models, in which windows, the
    touch has credit. The pairs are in the order of events.
    """
    starts, ends = paths[Column.STARTS], paths[Column.STARTS] + paths[Column.LENGTHS]
    begins = np.array([starts + paths[OLDER[days]] if days else starts for days in WINDOWS])
    shared = (begins[:, events] <= touches) * _bits_of("linear")[:, None]
    bits = np.bitwise_or.reduce(shared, axis=0)
    slices = TouchSlices(begins.ravel(), np.tile(ends, len(WINDOWS)))
    crediting = Crediting(slices, paths[Column.SOURCES])
    for model in _PICKS:
        picked = crediting.credit(model)
        picks = np.full(begins.size, -1)
        picks[picked.events] = picked.touches
        matches = picks.reshape(begins.shape)[:, events] == touches
        bits |= np.bitwise_or.reduce(matches * _bits_of(model)[:, None], axis=0)
    return bits
