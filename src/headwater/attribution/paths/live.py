"""Paths from the tables: the input of segments, and their replacement while missing or outdated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from psycopg.sql import SQL, Composed

from headwater.attribution.paths.path_data import NO_AMOUNT, OLDER, Column, EventKind, IntArray, PathData
from headwater.database.queries import Queries

queries = Queries(__name__, "live.sql")

OF_IDS = SQL("e.id = ANY(%(event_ids)s::bigint[])")
OF_DAY = SQL(
    "e.event_time >= %(day)s::timestamp AT TIME ZONE 'UTC'"
    " AND e.event_time < (%(day)s::timestamp + interval '1 day') AT TIME ZONE 'UTC'"
)

_OWN = SQL("e.contact_id")
_COMPANYS = SQL("coalesce(-e.company_id, e.contact_id)")
_2000 = 946_684_800
_MICROSECONDS = 1_000_000
_DAY = 86_400 * _MICROSECONDS


def live_paths(only: SQL | Composed, *, by_company: bool = False) -> Composed:
    """Return the query of paths to events `e` that meet `only`, for `assemble`. Binds `live_values` and what
    `only` binds.
    """
    return queries["paths"].format(
        only=only,
        owner=_COMPANYS if by_company else _OWN,
        touches=queries["by_company" if by_company else "by_contact"],
    )


def live_values(space_id: int, **only: Any) -> dict[str, Any]:
    kinds = {kind.name.lower(): int(kind) for kind in EventKind}
    return {"space_id": space_id, "no_amount": NO_AMOUNT, **kinds, **only}


def assemble(record: Sequence[Any]) -> PathData:
    """Assemble a binary row of `live_paths`."""
    events, ids, contacts, companies, times, amounts, owners, names, kinds, *touches = record
    event_times, event_owners = read_numbers(times), read_numbers(owners)
    touch_owners, touch_times = read_numbers(touches[0]), read_numbers(touches[1])
    starts = np.searchsorted(touch_owners, event_owners, "left")
    after = np.searchsorted(touch_owners, event_owners, "right")
    ends, *in_windows = _places(
        touch_times,
        (starts, after),
        np.stack([event_times + 1, *(event_times - days * _DAY for days in OLDER)]),
    )
    event_names = tuple(dict.fromkeys(names or ()))
    name_numbers = {name: number for number, name in enumerate(event_names)}
    columns = {
        Column.EVENT_IDS: read_numbers(ids),
        Column.CONTACTS: read_numbers(contacts),
        Column.COMPANIES: read_numbers(companies),
        Column.NAMES: np.array([name_numbers[name] for name in names or ()], dtype=np.int64),
        Column.SECONDS: event_times // _MICROSECONDS + _2000,
        Column.AMOUNTS: read_numbers(amounts),
        Column.STARTS: starts,
        Column.LENGTHS: ends - starts,
        Column.TOUCH_SECONDS: touch_times // _MICROSECONDS + _2000,
        Column.SOURCES: read_numbers(touches[2], ">i2"),
        Column.TAG_SETS: read_numbers(touches[3], ">i4"),
        Column.KINDS: read_numbers(kinds, ">i2"),
    }
    for column, places in zip(OLDER.values(), in_windows, strict=True):
        columns[column] = places - starts
    return PathData(columns, event_names, events, len(touch_times))


# Each owner's touches are a range of all, ordered by time. All moments are searched at once, by halving their
# ranges:
#
#     times      10   20   30   40      the first at or after 25:
#     step 1     ╰─────────▲────────╯   30 is not before it
#     step 2     ╰────▲───╯             20 is before it, so it is the one after 20


def _places(times: IntArray, stretches: tuple[IntArray, IntArray], moments: IntArray) -> IntArray:
    """Return the index of the first time at or after each moment in its range of ascending times. `moments`
    has a column per range.
    """
    low, high = (np.broadcast_to(edge, moments.shape) for edge in stretches)
    while (is_open := low < high).any():
        middle = (low + high) >> 1
        is_before = times.take(middle, mode="clip") < moments
        is_before &= is_open
        low, high = np.where(is_before, middle + 1, low), np.where(is_before, high, middle)
    return low


def read_numbers(packed: bytes | None, kind: str = ">i8") -> IntArray:
    """Unpack big-endian numbers; empty for None."""
    return np.frombuffer(packed or b"", dtype=kind).astype(np.int64)
