"""Kinds of import: fields, validation and storage."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import AsyncConnection

from headwater.http.errors import Errors
from headwater.http.json_decoder import encode_exact
from headwater.intake.imports import contacts, spend, spend_reader, spend_rows
from headwater.intake.imports.formats import totals
from headwater.intake.imports.formats.columns import Columns
from headwater.intake.imports.formats.files import FileRow
from headwater.intake.imports.formats.notation import Notation
from headwater.intake.imports.orders import layouts, records
from headwater.intake.inbox.accepted_rows import NewRow, append
from headwater.intake.ingest.forms import Form
from headwater.intake.ingest.payload import RECORD_FORM
from headwater.intake.ingest.touchpoints import TOUCHPOINT_FORM, refuse_source
from headwater.people.identity.senders import Sender
from headwater.sources.space_rules import SourceRules
from headwater.spaces.custom_fields import DATE_SLOTS, NUMBER_SLOTS, slot_name
from headwater.spaces.models import Space
from headwater.spend.ads.catalogue import put_names
from headwater.spend.ads.inputs import read_name

Store = Callable[[AsyncConnection, Space, Sequence[Any]], Awaitable[list[Errors | None]]]
"""Store rows in the caller's transaction. Return each row's errors or None."""

QuickReader = Callable[[FileRow], Any]
"""Returns a row to store, or None to fall back to `ImportKind.read`."""


@dataclass(frozen=True)
class ImportKind:
    fields: tuple[str, ...]
    read: Callable[[dict[str, Any], float], Any]
    """Validates values by field, at a time in Unix seconds. Raises Invalid."""
    store: Store
    taken: str
    """The word for accepted rows."""
    numbers: tuple[str, ...] = ()
    """Text converted to numbers."""
    money: tuple[str, ...] = ()
    """The amounts of money in `numbers`."""
    counts: tuple[str, ...] = ()
    """The whole numbers in `numbers`."""
    flags: tuple[str, ...] = ()
    """Text converted to true or false."""
    time: str | None = None
    days: tuple[str, ...] = ()
    place: str | None = None
    """Set to the row number."""
    total_test: Callable[[Columns], totals.RowTest] | None = None
    """Builds the test for rows to ignore: totals and notes."""
    quick_reader: Callable[[Columns, Notation, Mapping[str, Any]], QuickReader | None] | None = None
    maps_all: bool = False
    """Map columns named like their field, too."""
    chunk: int | None = None
    """Rows per transaction."""
    find_source: Callable[[Any, SourceRules], str] | None = None
    """Returns the source of a row to be counted; empty if unknown."""

    @property
    def times(self) -> tuple[str, ...]:
        return (self.time, *self.days) if self.time else self.days


def _make_queue(kind: str) -> Store:
    async def store(connection: AsyncConnection, space: Space, items: Sequence[Any]) -> list[Errors | None]:
        new_rows = [NewRow(kind, encode_exact(item), Sender.IMPORT) for item in items]
        await append(connection, [space.id] * len(items), new_rows)
        return [None] * len(items)

    return store


async def _store_touchpoints(
    connection: AsyncConnection, space: Space, items: Sequence[Any]
) -> list[Errors | None]:
    networks = {network.name for network in space.sources.networks}
    refusals = [refuse_source(item, networks) for item in items]
    accepted_items = [item for item, errors in zip(items, refusals, strict=True) if errors is None]
    if accepted_items:
        await _make_queue("touchpoint")(connection, space, accepted_items)
    return refusals


def _read_event(values: dict[str, Any], current_time: float) -> Any:
    """Read an event; it isn't forwarded to ad platforms unless the row asks for it."""
    if values.get("do_not_capi") in (None, ""):
        values = {**values, "do_not_capi": True}
    return _accept(RECORD_FORM, values, current_time)


def _read_touchpoint(values: dict[str, Any], current_time: float) -> Any:
    return _accept(TOUCHPOINT_FORM, values, current_time)


def _accept(form: Form[Any], values: dict[str, Any], current_time: float) -> Any:
    return form.accept(encode_exact(values), current_time)


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
        _make_queue("event"),
        "queued",
        numbers=("amount", *_NUMBERS),
        money=("amount",),
        days=_DAYS,
        flags=("is_upsell", "do_not_capi"),
        time="event_time",
        total_test=totals.make_total_test,
    ),
    "orders": ImportKind(
        layouts.FIELDS,
        records.read,
        records.store,
        "queued",
        numbers=("amount", "refunded"),
        money=("amount", "refunded"),
        flags=("is_test",),
        time="event_time",
        total_test=records.make_total_test,
        maps_all=True,
        find_source=records.find_source,
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
        quick_reader=spend_reader.make_quick_reader,
        maps_all=True,
        chunk=20_000,
    ),
}
