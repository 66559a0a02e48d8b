"""The form of page views that are put together, a visit's in one row: their keys, and behind them
everything else, compressed with words that nearly every page view has. Pure.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

import msgspec

from headwater.packed_views.words import WORDS

MOST_VIEWS = 64
"""Of a row: whoever reads one of them reads all."""
MOST_IDS = 2**20
"""Between the first and the last receipt of a row: one is looked for among so many."""
LONGEST_SPAN = 6 * 3600 * 1_000_000
"""Between the first and the last view of a row, in µs, likewise."""

_FORM = b"\x01"
_KEY = 16
_HEAD = 2
"""The octets before the keys: the form, and how many keys there are."""


class OldView(msgspec.Struct, frozen=True, gc=False):
    """A page view that could make no touchpoint. Times are µs since 1970."""

    id: int
    key: UUID
    contact_id: int
    origin_id: int | None
    visit_id: int
    occurred_at: int
    event_name: str
    url: str | None
    referrer_host: str | None
    source_id: int | None
    country: str | None
    device_type: str | None
    browser: str | None
    os: str | None
    language: str | None


class ViewPack(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A row: some page views of a visit."""

    id: int
    contact_id: int
    origin_id: int | None
    visit_id: int
    last_id: int
    first_at: int
    last_at: int
    body: bytes


class _Line(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The compressed part of a view, of which that comes last which views of a visit share."""

    id: int
    """From the row's on."""
    at: int
    """In µs, from the row's first on."""
    url: str | None
    event_name: str
    referrer_host: str | None
    source_id: int | None
    country: str | None
    device_type: str | None
    browser: str | None
    os: str | None
    language: str | None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[_Line]).decode


def pack(views: Iterable[OldView]) -> Iterator[ViewPack]:
    """Yield the rows that page views are put together in, whatever their order."""
    for _, group in itertools.groupby(sorted(views, key=_place), key=_owner):
        for part in _parts(list(group)):
            yield _pack(part)


def unpack(row: ViewPack) -> list[OldView]:
    """Return the page views of a row, in their order of time."""
    count = row.body[1]
    compressed = row.body[_HEAD + _KEY * count :]
    lines = _decode(zlib.decompressobj(-zlib.MAX_WBITS, WORDS).decompress(compressed))
    return [
        OldView(
            row.id + line.id, UUID(bytes=key), row.contact_id, row.origin_id, row.visit_id,
            row.first_at + line.at, line.event_name, line.url, line.referrer_host, line.source_id,
            line.country, line.device_type, line.browser, line.os, line.language,
        )
        for key, line in zip(_keys(row.body), lines, strict=True)
    ]  # fmt: skip


def keys_of(body: bytes) -> Iterator[str]:
    """Yield the keys of a row's views, which takes no decompressing."""
    return (str(UUID(bytes=key)) for key in _keys(body))


def _keys(body: bytes) -> Iterator[bytes]:
    end = _HEAD + _KEY * body[1]
    return (body[start : start + _KEY] for start in range(_HEAD, end, _KEY))


def _owner(view: OldView) -> tuple[int, int, int]:
    return view.visit_id, view.contact_id, view.origin_id or 0


def _place(view: OldView) -> tuple[tuple[int, int, int], int, int]:
    return _owner(view), view.occurred_at, view.id


def _parts(views: Sequence[OldView]) -> Iterator[list[OldView]]:
    """Divide a visit's views, in order of time, where one row may not have all."""
    part: list[OldView] = []
    low = high = 0
    for view in views:
        low, high = (min(low, view.id), max(high, view.id)) if part else (view.id, view.id)
        too_long = part and view.occurred_at - part[0].occurred_at > LONGEST_SPAN
        if too_long or len(part) == MOST_VIEWS or high - low >= MOST_IDS:
            yield part
            part, low, high = [], view.id, view.id
        part.append(view)
    yield part


def _pack(views: Sequence[OldView]) -> ViewPack:
    first, first_id = views[0], min(view.id for view in views)
    lines = [
        _Line(
            view.id - first_id, view.occurred_at - first.occurred_at, view.url, view.event_name,
            view.referrer_host, view.source_id, view.country, view.device_type, view.browser,
            view.os, view.language,
        )
        for view in views
    ]  # fmt: skip
    compressor = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS, 8, 0, WORDS)
    compressed = compressor.compress(_encode(lines)) + compressor.flush()
    head = _FORM + bytes((len(views),))
    return ViewPack(
        id=first_id,
        contact_id=first.contact_id,
        origin_id=first.origin_id,
        visit_id=first.visit_id,
        last_id=max(view.id for view in views),
        first_at=first.occurred_at,
        last_at=views[-1].occurred_at,
        body=b"".join((head, *(view.key.bytes for view in views), compressed)),
    )
