"""The form of packed page views: whatever they hold comes back as it was."""

from __future__ import annotations

import zlib
from dataclasses import astuple, dataclass
from uuid import UUID, uuid4

from hypothesis import given
from hypothesis import strategies as st

from headwater.packed_views.form import (
    LONGEST_SPAN,
    MOST_IDS,
    MOST_VIEWS,
    OldView,
    ViewPack,
    keys_of,
    pack,
    unpack,
)
from headwater.packed_views.words import WORDS

T0 = 1_760_000_000_000_000
KEY = UUID(int=7)


@dataclass
class Draft:
    """A page view with what most have."""

    id: int = 1
    key: UUID = KEY
    contact_id: int = 3
    origin_id: int | None = None
    visit_id: int = 1
    occurred_at: int = T0
    event_name: str = "page_view"
    url: str | None = "https://shop.example/"
    referrer_host: str | None = None
    source_id: int | None = None
    country: str | None = "DE"
    device_type: str | None = "mobile"
    browser: str | None = "Safari"
    os: str | None = "iOS"
    language: str | None = None

    def view(self) -> OldView:
        return OldView(*astuple(self))


def unpacked(packs: list[ViewPack]) -> list[OldView]:
    return [view for row in packs for view in unpack(row)]


def test_it_works() -> None:
    views = [
        Draft(id=9 + n, key=uuid4(), occurred_at=T0 + n * 60_000_000, url=f"https://x/{n}").view()
        for n in range(3)
    ]
    [row] = pack(reversed(views))
    assert unpack(row) == views
    assert list(keys_of(row.body)) == [str(view.key) for view in views]
    assert (row.id, row.last_id, row.first_at, row.last_at) == (9, 11, T0, T0 + 120_000_000)


texts = st.none() | st.text(max_size=20)
views = st.builds(
    OldView, id=st.integers(1, 2**62), key=st.uuids(), contact_id=st.integers(1, 3),
    origin_id=st.none() | st.integers(1, 3), visit_id=st.integers(1, 3),
    occurred_at=st.integers(0, 2**52), event_name=st.text(max_size=9), url=texts,
    referrer_host=texts, source_id=st.none() | st.integers(1, 62), country=texts,
    device_type=texts, browser=texts, os=texts, language=texts,
)  # fmt: skip


@given(st.lists(views, max_size=30, unique_by=lambda view: view.id))
def test_any_views_come_back(these: list[OldView]) -> None:
    packs = list(pack(these))
    assert sorted(unpacked(packs), key=lambda view: view.id) == sorted(
        these, key=lambda view: view.id
    )
    for row in packs:
        whole = unpack(row)
        assert len(whole) <= MOST_VIEWS
        assert row.last_id - row.id < MOST_IDS
        assert 0 <= row.last_at - row.first_at <= LONGEST_SPAN
        assert {view.id for view in whole} >= {row.id, row.last_id}
        assert {view.occurred_at for view in whole} >= {row.first_at, row.last_at}


def test_rows_are_bounded() -> None:
    many = [Draft(id=n, key=uuid4(), occurred_at=T0 + n).view() for n in range(2 * MOST_VIEWS + 1)]
    assert [row.body[1] for row in pack(many)] == [MOST_VIEWS, MOST_VIEWS, 1]
    far = [Draft(id=n * MOST_IDS, key=uuid4()).view() for n in range(2)]
    assert len(list(pack(far))) == 2
    long = [Draft(id=n, key=uuid4(), occurred_at=T0 + n * LONGEST_SPAN).view() for n in range(3)]
    assert [row.body[1] for row in pack(long)] == [2, 1]


def test_rows_that_were_written_stay_readable() -> None:
    """The words never change: a row can be read with those alone that it was written with."""
    body = (
        "0101000000000000000000000000000000078b8e36d031d05142f14b6a45626e414e2a01f7e37007d8e05800"
    )
    stored = ViewPack(
        id=9, contact_id=3, origin_id=None, visit_id=1, last_id=9, first_at=T0, last_at=T0,
        body=bytes.fromhex(body),
    )  # fmt: skip
    assert unpack(stored) == [Draft(id=9).view()]
    assert zlib.crc32(WORDS) == 3958190629
