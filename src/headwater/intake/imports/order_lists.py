"""Read another tool's list of orders, to be compared with ours. Nothing is stored. Pure, but for the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import islice
from typing import Any

from msgspec import Struct

from headwater.http.errors import join_rules
from headwater.http.inputs.instants import parse_instant
from headwater.intake.imports.formats.choices import FileChoices
from headwater.intake.imports.formats.columns import (
    LARGEST_EXPONENT,
    Columns,
    assign_columns,
    name_currency,
    typed,
)
from headwater.intake.imports.formats.dialects import UnreadableError
from headwater.intake.imports.formats.files import FileRow, RowSource
from headwater.intake.imports.formats.guesses import guess_columns
from headwater.intake.imports.formats.notation import Notation, NotationSurvey
from headwater.intake.imports.formats.totals import make_total_test
from headwater.intake.imports.formats.zones import is_local
from headwater.reports.questions.order_comparison import MOST_ORDERS, ListedOrder
from headwater.spaces.models import Space

ID, AMOUNT, TIME, CURRENCY = FIELDS = ("order_id", "amount", "event_time", "currency")
SAMPLE_ROWS = 50


class OrderList(Struct, frozen=True):
    orders: list[ListedOrder]
    days: tuple[date, date] | None
    """First and last day, in the Space's time zone; None if an order has no time."""
    columns: dict[str, str]
    """Columns of the file, by field."""
    refused: list[str]
    """Sentences about rows that could not be read."""


def read_order_list(source: RowSource, space: Space, choices: FileChoices) -> OrderList:
    """Raise UnreadableError if the file as a whole is unclear."""
    columns = _find_columns(source, choices)
    notation = _find_notation(source, columns, choices)
    is_total = make_total_test(columns)
    reader = _ListReader(space, columns, notation, is_table=source.form == "csv")
    with closing(source.rows()) as rows:
        for row in rows:
            if row.errors or not is_total(row.values):
                reader.add(row)
    if not reader.orders:
        raise UnreadableError(reader.refused[0] if reader.refused else "the file has no orders")
    return OrderList(
        reader.orders, reader.find_days(), {name: column for column, name in columns.mapped}, reader.refused
    )


class _ListReader:
    def __init__(self, space: Space, columns: Columns, notation: Notation, *, is_table: bool) -> None:
        self._space, self._columns, self._notation, self._is_table = space, columns, notation, is_table
        self._days: list[date] = []
        self._ids: set[str] = set()
        self.orders: list[ListedOrder] = []
        self.refused: list[str] = []

    def add(self, row: FileRow) -> None:
        """Read a row. Further rows of an order, such as one for each product, have no amount."""
        try:
            values = self._read(row)
            day = None if values.get(TIME) in (None, "") else self._find_day(values[TIME])
        except ValueError as error:
            self.refused.append(f"line {row.line}: {error}")
            return
        order_id, amount = values[ID], values[AMOUNT]
        if amount is None and order_id in self._ids:
            return
        self._ids.add(order_id)
        self.orders.append(ListedOrder(order_id, amount or Decimal(0)))
        if day is not None:
            self._days.append(day)
        if len(self.orders) > MOST_ORDERS:
            raise UnreadableError(f"the file has more than {MOST_ORDERS:,} orders: choose a shorter period")

    def find_days(self) -> tuple[date, date] | None:
        return (min(self._days), max(self._days)) if len(self._days) == len(self.orders) else None

    def _read(self, row: FileRow) -> dict[str, Any]:
        """Raise ValueError with the broken rule."""
        if row.errors:
            raise ValueError(join_rules(row.errors))
        values = self._columns.pick(row.values)
        if self._is_table:
            errors = name_currency(values, (AMOUNT,), self._space.currency)
            errors |= typed(values, (AMOUNT,), (), self._notation)
            if errors:
                raise ValueError(join_rules(errors))
        return self._check(values)

    def _check(self, values: dict[str, Any]) -> dict[str, Any]:
        order_id = str(values.get(ID) or "").strip()
        if not order_id:
            raise ValueError("the row has no order id")
        currency = str(values.get(CURRENCY) or self._space.currency).strip().upper()
        if currency != self._space.currency:
            raise ValueError(f"the amount is in {currency}, and reports are in {self._space.currency}")
        amount = values.get(AMOUNT)
        return {**values, ID: order_id, AMOUNT: None if amount is None else _read_amount(amount)}

    def _find_day(self, written: Any) -> date:
        """Return the day in the Space's time zone. A time without an offset is one of that zone."""
        text = self._notation.time(written) if self._is_table and isinstance(written, str) else written
        moment = _read_moment(text)
        return moment.date() if is_local(text) else moment.astimezone(self._space.zone).date()


def _read_moment(time: Any) -> datetime:
    try:
        return datetime.fromtimestamp(parse_instant(time), UTC)
    except (OSError, OverflowError, TypeError):
        raise ValueError("the event_time must be a time") from None


def _read_amount(amount: Any) -> Decimal:
    try:
        number = Decimal(str(amount))
    except ArithmeticError:
        number = Decimal("NaN")
    if not number.is_finite() or abs(number.adjusted()) > LARGEST_EXPONENT:
        raise ValueError("the amount must be a number")
    return number


def _find_columns(source: RowSource, choices: FileChoices) -> Columns:
    header = source.columns()
    field_by_column = dict(choices.mapped)
    if header is not None:
        with closing(source.rows()) as rows:
            sample: Sequence[Mapping[str, str]] = [row.values for row in islice(rows, SAMPLE_ROWS)]
        field_by_column = assign_columns(guess_columns("events", FIELDS, header, sample), choices.mapped)
        if ID not in field_by_column.values():
            raise UnreadableError(
                f"no column has order ids: the file has {', '.join(header)[:300]}. "
                "Map one with --map COLUMN=order_id"
            )
    columns = Columns(FIELDS, tuple(sorted(field_by_column.items())))
    columns.check(header)
    return columns


def _find_notation(source: RowSource, columns: Columns, choices: FileChoices) -> Notation:
    names = {name: column for column, name in columns.mapped}
    survey = NotationSurvey(
        [names[AMOUNT]] if AMOUNT in names else [], [], [names[TIME]] if TIME in names else []
    )
    if source.form == "csv":
        is_total = make_total_test(columns)
        with closing(source.rows()) as rows:
            survey.add(row.values for row in rows if not row.errors and not is_total(row.values))
    return survey.decide(choices.decimals, choices.dates)
