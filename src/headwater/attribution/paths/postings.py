"""Postings: the events of each source that is rare in a segment, with the models and windows that credit it.
Common sources are read from paths. Pure.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Collection

import numpy as np
from msgspec import Struct

from headwater.attribution.credits import Crediting, TouchSlices, are_sources_among
from headwater.attribution.models import MODELS, WINDOWS, CreditedTouches
from headwater.attribution.paths.path_data import OLDER_COLUMNS, Column, IntArray, PathData
from headwater.attribution.paths.segments import DamagedSegment, PackedColumn, pack, unpack
from headwater.attribution.shares import count_before
from headwater.sources.catalogue import source_mask

RARE_SHARE = 24
"""A rare source has at most one touch per this many events, counted on each path. So 62 sources have at most
2.6 postings per event, of 31 bytes.
"""
MAX_RARE_TOUCHES = 4
"""This many touches on paths are rare in any segment."""

# The stored postings of a source: a checksum of the rest and of the source number; the count and the least
# id; the ids above it, as wide as the largest needs; the 8-byte marks. A mark is the event's UTC second of
# the day, above bits of models and windows.
_CHECKSUM = struct.Struct("<I")
_HEADER = struct.Struct("<Iq")
_MARK = "<i8"
POSTING_OCTETS = 12
"""The typical size of a posting in bytes."""

# Stored model numbers: append, never reorder. Models that share an amount credit every eligible source in the
# window, so they have one number.
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
_READ = (
    Column.EVENT_IDS,
    Column.SECONDS,
    Column.STARTS,
    Column.LENGTHS,
    *OLDER_COLUMNS.values(),
    Column.SOURCES,
)
_SECONDS_FROM = len(WINDOWS) * (1 + max(_PLACES.values()))
_SECONDS_A_DAY = 86_400


class Postings(Struct, frozen=True):
    common_sources: int
    """A bit mask of sources that aren't rare."""
    sources: list[int]
    """Rare sources, ascending."""
    ends: list[int]
    """One past the last byte of each rare source."""
    data: bytes


def make_postings(paths: PathData) -> Postings:
    counts = np.bincount(paths[Column.SOURCES], weights=paths.touch_events())
    path_counts = counts.astype(np.int64)  # paths with the source, counting every touch
    is_rare = (path_counts > 0) & (path_counts <= max(MAX_RARE_TOUCHES, paths.events // RARE_SHARE))
    sources: list[int] = np.flatnonzero(is_rare).tolist()
    slices = _pack_sources(paths, sources) if sources else []
    return Postings(
        common_sources=source_mask(np.flatnonzero((path_counts > 0) & ~is_rare).tolist()),
        sources=sources,
        ends=np.cumsum([len(slice_) for slice_ in slices], dtype=np.int64).tolist(),
        data=b"".join(slices),
    )


def read_postings(data: bytes, source: int, model: str, window_days: int) -> tuple[IntArray, IntArray, int]:
    """Return a source's credited events by model and window, their seconds of the day, and the number of
    postings. Raises DamagedSegment.
    """
    body = memoryview(data)[_CHECKSUM.size :]
    if len(body) < _HEADER.size or _CHECKSUM.pack(zlib.crc32(body, source)) != data[:4]:
        raise DamagedSegment
    count, base = _HEADER.unpack_from(body)
    start = len(body) - 8 * count
    marks = np.frombuffer(body[start:], dtype=_MARK)
    has_credit = (marks & _model_bits(model)[WINDOWS.index(window_days)]) != 0
    event_ids = unpack(PackedColumn(base, bytes(body[_HEADER.size : start])), count)
    return event_ids[has_credit], marks[has_credit] >> _SECONDS_FROM, count


def list_columns(window_days: int) -> tuple[Column, ...]:
    """Return the columns for `count_credited`, event ids and seconds."""
    older_columns = (OLDER_COLUMNS[window_days],) if window_days else ()
    return (Column.EVENT_IDS, Column.SECONDS, Column.STARTS, Column.LENGTHS, *older_columns, Column.SOURCES)


def count_credited(paths: PathData, source_ids: Collection[int], model: str, window_days: int) -> IntArray:
    """Count touches per event."""
    starts, sources = paths[Column.STARTS], paths[Column.SOURCES]
    begins = starts + paths[OLDER_COLUMNS[window_days]] if window_days else starts
    ends = starts + paths[Column.LENGTHS]
    if MODELS[model].take is CreditedTouches.EACH:
        before = count_before(are_sources_among(source_ids, sources))
        return before[ends] - before[begins]
    counts = np.zeros(paths.events, dtype=np.int64)
    credited = Crediting(TouchSlices(begins, ends), sources).credit(model)
    counts[credited.events] = are_sources_among(source_ids, sources[credited.touches])
    return counts


def _model_bits(model: str) -> IntArray:
    return np.left_shift(1, len(WINDOWS) * _PLACES[model] + np.arange(len(WINDOWS)))


def _pack_sources(paths: PathData, sources: list[int]) -> list[bytes]:
    rare_paths = _select_events(sources, paths)
    starts = rare_paths[Column.STARTS]
    crediting = Crediting(
        TouchSlices(starts, starts + rare_paths[Column.LENGTHS]), rare_paths[Column.SOURCES]
    )
    pairs = crediting.select_touches(frozenset(sources))
    bits = _bits(rare_paths, pairs.events, pairs.touches)
    touch_sources = rare_paths[Column.SOURCES][pairs.touches]
    seconds, event_ids = rare_paths[Column.SECONDS] % _SECONDS_A_DAY, rare_paths[Column.EVENT_IDS]
    packed_postings: list[bytes] = []
    for source in sources:
        indexes = np.flatnonzero(touch_sources == source)
        events, first_indexes = np.unique(pairs.events[indexes], return_index=True)
        marks = seconds[events] << _SECONDS_FROM
        marks |= np.bitwise_or.reduceat(bits[indexes], first_indexes)
        packed_postings.append(_pack_postings(source, event_ids[events], marks))
    return packed_postings


def _select_events(sources: list[int], paths: PathData) -> PathData:
    """Select events with a touch of these sources, with whole paths."""
    starts = paths[Column.STARTS]
    before = count_before(are_sources_among(sources, paths[Column.SOURCES]))
    has_touches = before[starts] < before[starts + paths[Column.LENGTHS]]
    columns = {column: paths[column] for column in _READ}
    source_paths = PathData(columns, paths.event_names, paths.events, paths.touches)
    return source_paths.select(has_touches).without_unused()


def _pack_postings(source: int, event_ids: IntArray, marks: IntArray) -> bytes:
    ids = pack(event_ids)
    body = _HEADER.pack(len(event_ids), ids.base) + ids.data + marks.astype(_MARK).tobytes()
    return _CHECKSUM.pack(zlib.crc32(body, source)) + body


def _bits(paths: PathData, events: IntArray, touches: IntArray) -> IntArray:
    """Return the bits of models and windows that credit each pair's touch. Pairs are ordered by event."""
    starts, ends = paths[Column.STARTS], paths[Column.STARTS] + paths[Column.LENGTHS]
    begins = np.array([starts + paths[OLDER_COLUMNS[days]] if days else starts for days in WINDOWS])
    linear_bits = (begins[:, events] <= touches) * _model_bits("linear")[:, None]
    bits = np.bitwise_or.reduce(linear_bits, axis=0)
    slices = TouchSlices(begins.ravel(), np.tile(ends, len(WINDOWS)))
    crediting = Crediting(slices, paths[Column.SOURCES])
    for model in _PICKS:
        credited = crediting.credit(model)
        picks = np.full(begins.size, -1)
        picks[credited.events] = credited.touches
        matches = picks.reshape(begins.shape)[:, events] == touches
        bits |= np.bitwise_or.reduce(matches * _model_bits(model)[:, None], axis=0)
    return bits
