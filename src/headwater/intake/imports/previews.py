"""Preview the first rows of a file."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.http.errors import Invalid
from headwater.http.json_decoder import encode_exact
from headwater.intake.imports.formats.files import FileRow, RowSource
from headwater.intake.imports.importer import Import
from headwater.intake.imports.job_models import ImportJob, Reading
from headwater.intake.imports.orders.records import CANCELLED_ORDER, PastOrder
from headwater.intake.imports.readings import explain_refusal
from headwater.intake.imports.refusals import Refusals, RefusedRows
from headwater.spaces.models import Space

_TIMES = ("event_time", "occurred_at")
_UNSEEN = frozenset({"do_not_capi", "place"})
"""Constant or derived from other members."""


class PreviewRow(Struct, frozen=True):
    line: int
    values: dict[str, str | datetime]
    problem: str | None = None


class _DiscardedRefusals(Refusals):
    async def resume(self, connection: AsyncConnection, rows_done: int) -> None:
        del connection, rows_done

    async def add(self, connection: AsyncConnection, refused_rows: RefusedRows) -> None:
        del connection, refused_rows


def preview_rows(space: Space, job: ImportJob, reading: Reading, rows: Sequence[FileRow]) -> list[PreviewRow]:
    source = RowSource(io.BytesIO(), "csv", 0, b"", job.dialect)
    columns = reading.build_columns(job.kind)
    run = Import(
        space, job.kind, source, columns, _DiscardedRefusals(), reading.zone, reading.notation, job.defaults
    )
    return [_preview(run, reading, row) for row in run.without_totals(rows)]


def _preview(run: Import, reading: Reading, row: FileRow) -> PreviewRow:
    try:
        item = run.read(row, time.time())
    except Invalid as invalid:
        errors = invalid.errors
    else:
        if not isinstance(item, PastOrder) or not item.is_cancelled:
            return PreviewRow(row.line, _format_item(item))
        errors = CANCELLED_ORDER
    return PreviewRow(row.line, {}, explain_refusal(run.name, reading, row.values, errors))


def _format_item(item: Any) -> dict[str, str | datetime]:
    if not isinstance(item, PastOrder):
        return _format_values(json.loads(encode_exact(item)))
    values = _format_values(json.loads(encode_exact(item.event)))
    return values if item.refund is None else values | {"refunded": item.refund.statements[0].amount or "all"}


def _format_values(item: dict[str, Any]) -> dict[str, str | datetime]:
    values: dict[str, str | datetime] = {}
    for name, value in item.items():
        if name in _UNSEEN or value in (None, "", [], {}):
            continue
        if name in _TIMES:
            values[name] = datetime.fromtimestamp(value / 1000, UTC)
        elif isinstance(value, dict):
            values |= _format_values(cast("dict[str, Any]", value))
        else:
            values[name] = _format_text(value)
    return values


def _format_text(value: Any) -> str:
    if not isinstance(value, list):
        return str(value)
    # The name is the last part, after kind and id.
    parts: list[Any] = [
        cast("Any", item)[-1] if isinstance(item, list) else item for item in cast("list[Any]", value)
    ]
    return ", ".join(map(str, parts))
