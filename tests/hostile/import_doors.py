"""Readers of uploaded files, which anyone can write."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from typing import Any

from headwater.base.egress.models import EgressResponse
from headwater.console.forms import PostedForm
from headwater.console.order_pages.comparison import _read_day
from headwater.http.errors import Invalid
from headwater.intake.imports.formats.amounts import DecimalsSurvey
from headwater.intake.imports.formats.columns import Columns
from headwater.intake.imports.formats.dialects import HEAD_BYTES, Dialect, UnreadableError, detect_delimiter
from headwater.intake.imports.formats.encodings import EncodingSurvey, UnclearEncodingError, judge_encoding
from headwater.intake.imports.formats.files import LONGEST_ROW, FileRow
from headwater.intake.imports.formats.notation import Notation
from headwater.intake.imports.formats.times import DatesSurvey
from headwater.intake.imports.formats.totals import is_total_label, names_total
from headwater.intake.imports.order_lists import FIELDS, _ListReader
from headwater.intake.imports.orders.layouts import map_columns, recognize_layout
from headwater.intake.imports.orders.records import read as read_order
from headwater.intake.imports.orders.shop_apis import SHOP_APIS
from headwater.intake.imports.orders.shop_source import _read_json
from headwater.intake.imports.spend import find_table
from headwater.intake.imports.spend_rows import refuse_other_rows
from tests.hostile.growth import Door
from tests.support.reading_files import make_space

NOW = 1_800_000_000.0
SPACE = make_space()


def _read_cell(text: str) -> None:
    """Read an uploaded file's cell as an amount and as a time."""
    DecimalsSurvey().add(text)
    DatesSurvey().add(text)
    for notation in (Notation("comma", "dmy"), Notation("point", "mdy")):
        notation.number(text)
        notation.time(text)
    is_total_label(text)
    names_total(text)


def _detect_encoding(text: str) -> None:
    """Detect the encoding of an uploaded file that is partly not UTF-8."""
    survey = EncodingSurvey()
    survey.add(text.encode("cp1252", "replace"), final=True)
    with suppress(UnclearEncodingError):
        judge_encoding(survey.sample)


def _table(text: str) -> None:
    """Read the beginning of an uploaded spend file."""
    with suppress(UnreadableError):
        table = find_table(text.encode("utf-8", "replace"), Dialect())
        if table is not None:
            refuse_other_rows(table.recognition, table.fields, table.rows)


def _order(text: str) -> None:
    """Read an order's cells with several values, in exporters' formats."""
    values: dict[str, Any] = {
        "order_id": "1", "event_time": "2026-05-13T10:00:00Z", "amount": 5, "email": "ada@example.com",
        "note_attributes": text, "refunds": text, "tags": text, "channel": text,
    }  # fmt: skip
    for other_values in ({}, {"cancelled_at": text}):
        with suppress(Invalid):
            read_order(values | other_values, NOW)
    with suppress(UnreadableError):
        map_columns([text], recognize_layout([text]))


def _read_order_list(text: str) -> None:
    """Read a shop's list of orders, and an amount in it."""
    answer = _read_json(EgressResponse(status=200, body=text.encode(errors="replace")))
    refunds = [{"total": text}]
    notes = [{"key": text, "value": text}]
    order = {"id": 1, "number": text, "status": text, "total": "5", "currency": text, "billing": {},
             "refunds": refunds, "date_created_gmt": text, "meta_data": notes}  # fmt: skip
    for api, page in product(SHOP_APIS.values(), (answer, [order])):
        with suppress(KeyError, TypeError, ValueError, AttributeError):
            api.read(page, "")


def _order_list(text: str) -> None:
    """Read a row of another tool's list of orders, and the days that are chosen for it."""
    columns = Columns(FIELDS)
    for is_table in (True, False):
        reader = _ListReader(SPACE, columns, Notation(), is_table=is_table)
        reader.add(FileRow(1, 1, {"order_id": "1", "amount": text}))
        reader.add(FileRow(2, 2, {"order_id": text, "event_time": text}))
    with suppress(Invalid):
        _read_day(PostedForm((("first", text),)), "first")


IMPORT_DOORS = [
    Door("imports.order_list", _order_list, LONGEST_ROW),
    Door("imports.shop", _read_order_list, LONGEST_ROW),
    Door("imports.order", _order, LONGEST_ROW),
    Door("imports.spend", _table, HEAD_BYTES),
    Door("imports.delimiter", detect_delimiter, HEAD_BYTES),
    Door("imports.encoding", _detect_encoding, HEAD_BYTES),
    Door("imports.notation", _read_cell, LONGEST_ROW),
]
