"""The kinds of import: the fields of each, the checks of its rows, which are the API's own, and the
way a chunk of them is stored.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from psycopg import AsyncConnection

from headwater.http.errors import Errors
from headwater.intake.imports import contacts, spend, spend_reader, spend_rows
from headwater.intake.imports.formats import totals
from headwater.intake.imports.formats.columns import Columns
from headwater.intake.imports.formats.files import FileRow
from headwater.intake.imports.formats.notation import Notation
from headwater.intake.inbox.accepted_rows import AcceptedRows, append
from headwater.intake.ingest.forms import Form
from headwater.intake.ingest.payload import RECORD_FORM
from headwater.intake.ingest.touchpoints import TOUCHPOINT_FORM, refuse_source
from headwater.people.identity.senders import Sender
from headwater.spaces.custom_fields import DATE_SLOTS, NUMBER_SLOTS, slot_name
from headwater.spaces.models import Space
from headwater.spend.ads.catalogue import put_names
from headwater.spend.ads.inputs import read_name

Store = Callable[[AsyncConnection, Space, Sequence[Any]], Awaitable[list[Errors | None]]]
"""A function that stores rows in the caller's transaction and returns each one's errors or None."""

QuickReader = Callable[[FileRow], Any]
"""A function that reads a row of a table as it is stored; None where `ImportKind.read` has to."""

_encode = msgspec.json.Encoder(decimal_format="number").encode


@dataclass(frozen=True)
class ImportKind:
    """One kind of rows."""

    fields: tuple[str, ...]
    read: Callable[[dict[str, Any], float], Any]
    """A row's values by field, checked; the second argument is now, in Unix seconds. Raises
    Invalid."""
    store: Store
    taken: str
    """The word for the rows that were taken, such as `stored`."""
    numbers: tuple[str, ...] = ()
    """Fields whose text in a CSV file has to become a number; others take text."""
    money: tuple[str, ...] = ()
    """The numbers that are amounts of money."""
    counts: tuple[str, ...] = ()
    """The numbers that have no decimals."""
    flags: tuple[str, ...] = ()
    """Fields whose text in a CSV file has to become true or false."""
    time: str | None = None
    """The field with the time of the row."""
    days: tuple[str, ...] = ()
    """Other fields with days."""
    place: str | None = None
    """The field that becomes the number of the row."""
    total_test: Callable[[Columns], totals.RowTest] | None = None
    """Makes, by a file's columns, what tells by a row's values whether it is one of totals or a
    note, which is passed over.
    """
    quickly: Callable[[Columns, Notation, Mapping[str, Any]], QuickReader | None] | None = None
    """Makes the reader of files of a million rows, by their columns, their notation and the fields
    that rows have unless they have their own.
    """
    maps_all: bool = False
    """True where columns are mapped also to the fields of their own name."""
    chunk: int | None = None
    """The number of rows that are stored at once, if it is not the usual one."""

    @property
    def times(self) -> tuple[str, ...]:
        """The fields with times and days."""
        return (self.time, *self.days) if self.time else self.days


def _queueing(kind: str) -> Store:
    async def store(connection: AsyncConnection, space: Space, items: Sequence[Any]) -> list[Errors | None]:
        count = len(items)
        senders, rows = [Sender.IMPORT] * count, list(map(_encode, items))
        await append(connection, AcceptedRows([space.id] * count, [kind] * count, senders, rows))
        return [None] * count

    return store


async def _store_touchpoints(
    connection: AsyncConnection, space: Space, items: Sequence[Any]
) -> list[Errors | None]:
    networks = {network.name for network in space.sources.networks}
    refused = [refuse_source(item, networks) for item in items]
    taken = [item for item, errors in zip(items, refused, strict=True) if errors is None]
    if taken:
        await _queueing("touchpoint")(connection, space, taken)
    return refused


def _read_event(values: dict[str, Any], now: float) -> Any:
    """Read an event; being past, it is not forwarded to ad platforms unless the row says so."""
    if values.get("do_not_capi") in (None, ""):
        values = {**values, "do_not_capi": True}
    return _accepted(RECORD_FORM, values, now)


def _read_touchpoint(values: dict[str, Any], now: float) -> Any:
    return _accepted(TOUCHPOINT_FORM, values, now)


def _accepted(form: Form[Any], values: dict[str, Any], now: float) -> Any:
    return form.accept(_encode(values), now)


def _read_ad(values: dict[str, Any], _: float) -> Any:
    return read_name(values)


async def _store_ads(connection: AsyncConnection, space: Space, items: Sequence[Any]) -> list[Errors | None]:
    await put_names(connection, space.id, items)
    return [None] * len(items)


_NUMBERS = tuple(map(slot_name, NUMBER_SLOTS))
_DAYS = tuple(map(slot_name, DATE_SLOTS))
KINDS = {
    "events": ImportKind(
        RECORD_FORM.payload.__struct_fields__,
        _read_event,
        _queueing("event"),
        "queued",
        numbers=("amount", *_NUMBERS),
        money=("amount",),
        days=_DAYS,
        flags=("is_upsell", "do_not_capi"),
        time="event_time",
        total_test=totals.make_total_test,
    ),
    "touchpoints": ImportKind(
        TOUCHPOINT_FORM.payload.__struct_fields__,
        _read_touchpoint,
        _store_touchpoints,
        "queued",
        time="occurred_at",
        total_test=totals.make_total_test,
    ),
    "contacts": ImportKind(
        contacts.FIELDS,
        contacts.read,
        contacts.store,
        "stored",
        numbers=_NUMBERS,
        days=_DAYS,
        total_test=totals.make_total_test,
    ),
    "ads": ImportKind(("kind", "id", "name", "platform"), _read_ad, _store_ads, "stored"),
    "spend": ImportKind(
        spend.FIELDS,
        spend.read,
        spend.store,
        "stored",
        numbers=spend.NUMBERS,
        money=spend.MONEY,
        counts=spend.COUNTS,
        days=(spend.DAY, spend.LAST_DAY),
        place="place",
        total_test=spend_rows.make_total_test,
        quickly=spend_reader.quick_reader,
        maps_all=True,
        chunk=20_000,
    ),
}
