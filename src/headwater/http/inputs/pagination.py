"""Cursor paging: signed list positions and the list envelope.

A cursor means "after (or before) this row", never "page 7", so pages stay correct while rows are added. Its
signature covers the Space, endpoint and filters, so it works only for its own list.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct
from psycopg.sql import SQL

from headwater.http.answers import DataPage
from headwater.http.inputs.fields import whole_number, written
from headwater.http.inputs.parameters import Input, Parameter, Query
from headwater.http.inputs.timerange import TimeRange

CURSOR = Parameter(
    name="cursor",
    kind=written({"type": "string", "pattern": r"\S"}, str),
    description="A cursor from an earlier page of the same list; absent, the first page.",
)

SIGNATURE_BYTES = 32
FOREIGN_CURSOR = "is not a cursor of this list."
NEWEST_FIRST, OLDEST_FIRST = SQL("DESC"), SQL("ASC")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

PageAnswer = TypeVar("PageAnswer", bound=DataPage[Any])
KeyOf = Callable[[tuple[Any, ...]], tuple[int, ...]]


class Position(msgspec.Struct, frozen=True, array_like=True):
    """A position between two rows: just after the row with sort key `key`, in reading order, or just before
    it when `backward`. The key's last number is the row's id.
    """

    backward: bool
    key: tuple[int, ...]


def page_size(
    limit: int, default: int = 200, description: str = "How many rows a page has at most."
) -> Parameter[int]:
    return Parameter(name="per_page", kind=whole_number(1, limit), default=default, description=description)


PER_PAGE = page_size(1000)
PAGE_DOCUMENTATION = [parameter.openapi() for parameter in (PER_PAGE, CURSOR)]


class Cursors(Struct, frozen=True):
    signing_key: bytes
    space_id: int
    endpoint: str
    filters: Any
    """JSON values that determine the list's rows."""

    def write(self, position: Position) -> str:
        payload = msgspec.msgpack.encode(position)
        return urlsafe_b64encode(self._signature(payload) + payload).rstrip(b"=").decode()

    def read(self, text: str) -> Position:
        """Return a cursor's position. Raise ValueError unless `write` made it for this list."""
        try:
            token = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except ValueError:
            raise ValueError(FOREIGN_CURSOR) from None
        signature, payload = token[:SIGNATURE_BYTES], token[SIGNATURE_BYTES:]
        # Base64 can encode the same bytes in several ways; only the issued one is accepted.
        is_canonical = urlsafe_b64encode(token).rstrip(b"=").decode() == text
        if not (hmac.compare_digest(signature, self._signature(payload)) and is_canonical):
            raise ValueError(FOREIGN_CURSOR)
        return msgspec.msgpack.decode(payload, type=Position)

    def read_from(self, query: Input) -> Position | None:
        """Return the position in the `cursor` parameter, if any."""
        if any(not text.strip() for text in query.texts(CURSOR.name)):
            query.refuse(CURSOR.name, "must not be blank; leave it out for the first page.")
            return None
        text = CURSOR.read(query)
        try:
            return None if text is None else self.read(text)
        except ValueError as error:
            query.refuse(CURSOR.name, str(error))
            return None

    def _signature(self, payload: bytes) -> bytes:
        bound = msgspec.json.encode(["cursor", self.space_id, self.endpoint, self.filters])
        return hmac.digest(self.signing_key, sha256(bound).digest() + payload, "sha256")


def read_page(query: Input, cursors: Cursors) -> tuple[int, Position | None]:
    """Read the page size and position, the last parameters of a list. Raise Invalid for any bad input."""
    per_page = PER_PAGE.read(query) or 0
    position = cursors.read_from(query)
    query.finish()
    return per_page, position


@dataclass(frozen=True)
class Page:
    """A page in reading order, and its neighbours' positions."""

    lines: list[str]
    next: Position | None
    previous: Position | None


def make_page(
    rows: Sequence[tuple[Any, ...]], per_page: int, position: Position | None, make_key: KeyOf
) -> Page:
    """Return a page of up to `per_page` rows. `rows` has one more, starting at a position in reading order,
    each a line followed by its sort values. `make_key` turns those into a key.

    The extra row, the last in the direction of travel, only shows that more rows follow.
    """
    has_more = len(rows) > per_page
    is_backward = position is not None and position.backward
    page_rows = rows[-per_page:] if is_backward else rows[:per_page]
    if not page_rows:
        return _empty(position)
    older = Position(backward=False, key=make_key(page_rows[-1][1:]))
    newer = Position(backward=True, key=make_key(page_rows[0][1:]))
    return Page(
        [row[0] for row in page_rows],
        next=older if has_more or is_backward else None,
        previous=newer if (has_more if is_backward else position is not None) else None,
    )


def _empty(position: Position | None) -> Page:
    """Return an empty page that leads back to the row at `position`: the key is moved past it by one id."""
    if position is None:
        return Page([], None, None)
    *key_start, number = position.key
    reverse_position = Position(
        backward=not position.backward, key=(*key_start, number + (1 if position.backward else -1))
    )
    return Page(
        [],
        next=reverse_position if position.backward else None,
        previous=None if position.backward else reverse_position,
    )


def to_key(values: Sequence[Any]) -> tuple[int, ...]:
    """Return sort values as numbers, instants in microseconds since 1970."""
    return tuple(
        (value - _EPOCH) // timedelta(microseconds=1) if isinstance(value, datetime) else value
        for value in values
    )


def from_key(key: tuple[int, ...]) -> list[datetime | int]:
    """Return the sort values of a key whose first, third, fifth … number is an instant."""
    return [
        _EPOCH + timedelta(microseconds=number) if index % 2 == 0 else number
        for index, number in enumerate(key)
    ]


def sort_direction(position: Position | None) -> SQL:
    """Return the reading direction for a position of a newest-first list."""
    return OLDEST_FIRST if position and position.backward else NEWEST_FIRST


def time_bounds(time: TimeRange, position: Position | None) -> dict[str, Any]:
    """Return a page's bounds in (time, id) order. The position replaces one end of the time range."""
    after, before = [time.start, 0], [time.end, 0]
    if position and position.backward:
        after = from_key(position.key)
    elif position:
        before = from_key(position.key)
    return {"after_time": after[0], "after_id": after[1], "before_time": before[0], "before_id": before[1]}


def day_bounds(position: Position | None) -> dict[str, Any]:
    """Return a page's bounds in (day, id) order, with days since 1970."""
    bounds = {"after_day": date.min, "after": 0, "before_day": date.max, "before": 2**63 - 1}
    if position is None:
        return bounds
    day = _EPOCH.date() + timedelta(days=position.key[0])
    end = "after" if position.backward else "before"
    return bounds | {f"{end}_day": day, end: position.key[1]}


class PageLink(Struct, frozen=True):
    """A list's address, query and cursors, for links to other pages."""

    url: str
    """The endpoint's absolute URL, without a query."""
    query: Query
    cursors: Cursors


def answer_page(
    kind: type[PageAnswer], page: Page, per_page: int, link: PageLink, **members: Any
) -> PageAnswer:
    """Return a page of a list as an API answer, with additional members."""
    after, before = (
        link.cursors.write(position) if position else None for position in (page.next, page.previous)
    )
    return kind(
        data=cast("list[Any]", msgspec.Raw(f"[{','.join(page.lines)}]".encode())),
        path=link.url,
        per_page=per_page,
        next_cursor=after,
        next_page_url=after and link.query.url_with(link.url, CURSOR.name, after),
        prev_cursor=before,
        prev_page_url=before and link.query.url_with(link.url, CURSOR.name, before),
        **members,
    )
