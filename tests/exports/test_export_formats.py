"""File formats: the same rows and values as NDJSON, CSV and Parquet, each with its own types."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from arro3.io import read_parquet
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headwater.database.json_lines import ColumnType, LineColumn
from headwater.events.fields import FIELDS, columns
from headwater.exports.csv_rows import safe_cell, write_csv
from headwater.exports.formats import FileForm, Format
from headwater.exports.parquet_rows import write_parquet
from headwater.exports.stream import LineReader
from headwater.people.companies.export_lines import COLUMNS as COMPANY_COLUMNS
from headwater.people.contacts.export_lines import COLUMNS as CONTACT_COLUMNS
from headwater.people.contacts.export_lines import TRK_TOKENS
from tests.support.campaigns import campaign_size
from tests.support.exports import Exports
from tests.support.factories import NOON, Stage
from tests.support.sizes import ROOT

DAY = "2026-05-13"
EVERY_FIELD = [name for name in FIELDS if name not in {"id", "event_time_utc"}][:20]
CREDITED = {"sources": ["google_ads"], "attribution_model": "linear", "attribution_window": 0}
CREATED = {"start_date": f"{DAY} 00:00:00", "end_date": f"{DAY} 23:59:59"}
TYPES = tuple(LineColumn(f"a_{number}", column_type) for number, column_type in enumerate(ColumnType))
RISKY = ("=1", "'=1", '"=', " \ufeff=1", "'\t", "+1 x", "+1", "'+1")
"""Texts that a spreadsheet may run as a formula, and texts that only look like formulas."""
EXAMPLES = campaign_size("HEADWATER_FORMAT_EXAMPLES", 25, 2000)


class MemorySink:
    """A sink in memory."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> int:
        self.data += data
        return len(data)


def split_csv(text: str) -> list[list[str | None]]:
    """Parse CSV by its grammar alone: unlike the standard library, this distinguishes nulls from empty
    texts.
    """
    cells = re.findall(r'("(?:[^"]|"")*"|[^,\r\n]*)(,|\r\n)', text)
    rows: list[list[str | None]] = [[]]
    for cell, end in cells:
        is_quoted = cell.startswith('"')
        rows[-1].append(cell[1:-1].replace('""', '"') if is_quoted else cell or None)
        if end != ",":
            rows.append([])
    assert rows.pop() == []
    return rows


def strip_prefix(text: str) -> str:
    """Return a text without the prefix that keeps a spreadsheet from running it."""
    skipped_characters, formula = "\\s'\"\x00-\x1f\u200b-\u200f\u2060\ufeff", "=+\\-@\uff1d\uff0b\uff0d\uff20"
    return re.sub(f"^'([{skipped_characters}]*[{formula}]|'*[\t\r\n])", r"\1", text)


def from_csv(text: str, columns: Sequence[LineColumn]) -> list[list[Any]]:
    header, *rows = split_csv(text)
    assert header == [column.name for column in columns]
    parsers: dict[ColumnType, Callable[[str], Any]] = {
        ColumnType.WHOLE: int, ColumnType.AMOUNT: Decimal, ColumnType.NUMBER: Decimal,
        ColumnType.BOOLEAN: {"true": True, "false": False}.__getitem__, ColumnType.TEXT: strip_prefix,
        ColumnType.MOMENT: datetime.fromisoformat, ColumnType.TEXTS: json.loads,
    }  # fmt: skip
    return [
        [None if cell is None else parsers[column.type](cell)
         for cell, column in zip(row, columns, strict=True)]
        for row in rows
    ]  # fmt: skip


def from_ndjson(lines: Sequence[str], columns: Sequence[LineColumn]) -> list[list[Any]]:
    rows = [json.loads(line, parse_float=Decimal) for line in lines]
    decimals = {ColumnType.AMOUNT, ColumnType.NUMBER}

    def value(cell: Any, kind: ColumnType) -> Any:
        if cell is not None and kind in decimals:
            return Decimal(cell)
        if cell is not None and kind is ColumnType.MOMENT:
            return datetime.fromisoformat(cell)
        return cell

    assert all(list(row) == [column.name for column in columns] for row in rows)
    return [[value(row[column.name], column.type) for column in columns] for row in rows]


def from_parquet(data: bytes, columns: Sequence[LineColumn]) -> list[list[Any]]:
    table = read_parquet(io.BytesIO(data)).read_all()
    assert table.column_names == [column.name for column in columns]
    return [list(row) for row in zip(*(table.column(c.name).to_pylist() for c in columns), strict=True)]


def in_format(
    write: Callable[..., None], lines: Sequence[str], columns: Sequence[LineColumn] = TYPES
) -> bytes:
    sink = MemorySink()
    middle = len(lines) // 2
    write([chunk for chunk in (lines[:middle], lines[middle:]) if chunk], columns, sink)
    return sink.data


def test_it_works(stage: Stage, exports: Exports) -> None:
    stage.touchpoint(contact := stage.contact(), "google_ads", campaign_name='=1+"x"')
    stage.event(contact, amount="12.50", order_id="", event_time=NOON)
    stage.event(contact, amount=None, order_id="-1\nö, 🛒 \U00020000", event_time=NOON)
    body = {"date": DAY, **CREDITED, "fields": EVERY_FIELD}
    expected = exports.export(**body)
    column_list = columns(name for name in FIELDS if name in expected[0])
    lines = [as_json(row) for row in expected]
    export_id = exports.ask(**body, format="csv")
    exports.work()
    link = exports.status(export_id)["download_url"]
    response = exports.fetch(link)
    assert ".csv.gz?" in link
    assert response.headers["content-type"] == "application/gzip"
    text = gzip.decompress(response.content).decode()
    assert from_csv(text, column_list) == from_ndjson(lines, column_list)
    export_id = exports.ask(**body, format="parquet")
    exports.work()
    link = exports.status(export_id)["download_url"]
    response = exports.fetch(link)
    assert ".parquet?" in link
    assert response.headers["content-type"] == "application/vnd.apache.parquet"
    assert from_parquet(response.content, column_list) == from_ndjson(lines, column_list)


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
HOSTILE = st.sampled_from([
    "", "=1", "'=1", "''+x", "+49 151 2", "-5", "- 5 x", "@a", "\tx", "\nx", '"', '""', ",", "\r\n",
    "'", "null", "\uff1d1", "\u2028", "\x01", "🛒", "true",
]).flatmap(lambda start: TEXTS.map(lambda rest: start + rest))  # fmt: skip
ANY_TEXT = st.one_of(HOSTILE, TEXTS, st.sampled_from(["", "null", "=1"]))
MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001


def as_json(value: Any) -> str:
    """Return a value as PostgreSQL writes it: with only the necessary escapes."""
    return json.dumps(value, ensure_ascii=False)


def decimals(digits: int, places: int) -> st.SearchStrategy[str]:
    largest = 10**digits - 1
    numbers = st.one_of(st.integers(-largest, largest), st.integers(-99, 99))
    return numbers.map(lambda units: f"{Decimal(units).scaleb(-places):f}")


VALUES: dict[ColumnType, st.SearchStrategy[str]] = {
    ColumnType.WHOLE: st.integers(-(2**63), 2**63 - 1).map(str),
    ColumnType.AMOUNT: decimals(19, 4),
    ColumnType.NUMBER: decimals(28, 10),
    ColumnType.BOOLEAN: st.sampled_from(["true", "false"]),
    ColumnType.TEXT: ANY_TEXT.map(as_json),
    ColumnType.MOMENT: MOMENTS.map(lambda moment: json.dumps(moment.isoformat().replace("+00:00", "Z"))),
    ColumnType.TEXTS: st.lists(ANY_TEXT, max_size=3).map(as_json),
}  # fmt: skip
LINES = st.tuples(*(st.one_of(VALUES[column.type], st.just("null")) for column in TYPES)).map(
    lambda cells: "{" + ",".join(f'"{TYPES[number].name}":{cell}' for number, cell in enumerate(cells)) + "}"
)


@settings(max_examples=EXAMPLES, deadline=None)
@example(lines=[json.dumps(dict.fromkeys(column.name for column in TYPES) | {"a_4": text}) for text in RISKY])
@given(lines=st.lists(LINES, max_size=6))
def test_every_format_has_the_same_values(lines: list[str]) -> None:
    expected = from_ndjson(lines, TYPES)
    assert from_csv(in_format(write_csv, lines).decode(), TYPES) == expected
    assert from_parquet(in_format(write_parquet, lines), TYPES) == expected


@settings(max_examples=EXAMPLES, deadline=None)
@given(texts=st.lists(ANY_TEXT, min_size=1, max_size=5))
def test_no_cell_is_a_formula_and_others_read_it_too(texts: list[str]) -> None:
    lines = [as_json({"a": text}) for text in texts]
    data = in_format(write_csv, lines, [LineColumn("a", ColumnType.TEXT)]).decode()
    cells = [row[0] for row in csv.reader(io.StringIO(data, newline="")) if row][1:]
    assert cells == [safe_cell(text) for text in texts]
    for cell in cells:
        is_number = re.fullmatch(r"[+-]?[\d\s().-]+", cell, re.ASCII)
        assert is_number or not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d"))


def test_an_empty_export_has_its_columns(exports: Exports) -> None:
    for kind, body, column_names in (
        ("events", {"date": "2031-01-01", "fields": ["amount"]},
         ["id", "amount", "event_time_utc"]),
        ("companies", {"start_date": "2031-01-01 00:00:00", "end_date": "2031-01-02 00:00:00"},
         [column.name for column in COMPANY_COLUMNS]),
    ):  # fmt: skip
        export_id = exports.ask(kind, **body, format="csv", compression="none")
        exports.work()
        response = exports.fetch(exports.status(export_id, kind)["download_url"])
        assert response.text == ",".join(column_names) + "\r\n"
        assert response.headers["content-type"] == "text/csv; charset=utf-8"
        export_id = exports.ask(kind, **body, format="parquet")
        exports.work()
        response = exports.fetch(exports.status(export_id, kind)["download_url"])
        table = read_parquet(io.BytesIO(response.content)).read_all()
        assert (table.num_rows, table.column_names) == (0, column_names)


@pytest.mark.parametrize("trk_tokens", [False, True])
def test_contacts_and_companies(stage: Stage, exports: Exports, trk_tokens: bool) -> None:
    stage.company(name="=x", external_id="007")
    contact_id = stage.contact(
        name="", profile_field_1="'=x", profile_field_16=Decimal("-1234567890123456.0000000001"),
        profile_field_26=NOON,
    )  # fmt: skip
    for address in ("a@b.org", "c,d@b.org"):
        stage.identifier(contact_id, "email", address)
    stage.identifier(contact_id, "trk_token", "t")
    tokens = (*CONTACT_COLUMNS[:5], TRK_TOKENS, *CONTACT_COLUMNS[5:])
    more = {"include_trk_tokens": trk_tokens}
    for kind, body, column_list in (
        ("contacts", {**CREATED, **more}, tokens if trk_tokens else CONTACT_COLUMNS),
        ("companies", CREATED, COMPANY_COLUMNS),
    ):
        contents: dict[str, bytes] = {}
        for name in Format:
            export_id = exports.ask(kind, **body, format=name)
            exports.work()
            data = exports.fetch(exports.status(export_id, kind)["download_url"]).content
            contents[name] = data if name == "parquet" else gzip.decompress(data)
        expected = from_ndjson(contents["ndjson"].decode().splitlines(), column_list)
        assert len(expected) == 1
        assert from_csv(contents["csv"].decode(), column_list) == expected
        assert from_parquet(contents["parquet"], column_list) == expected


def test_errors_come_through_the_writer_of_parquet() -> None:
    lines = ['{"a":1}'] * 3

    class Full:
        def write(self, _: bytes) -> int:
            raise OSError(28, "No space left on device")

    def stop() -> Any:
        yield lines
        raise KeyboardInterrupt

    column_list = [LineColumn("a", ColumnType.WHOLE)]
    with pytest.raises(OSError, match="No space"):
        write_parquet([lines], column_list, Full())
    with pytest.raises(KeyboardInterrupt):
        write_parquet(stop(), column_list, MemorySink())


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"format": "xlsx"}, "format"),
        ({"format": "parquet", "compression": "gzip"}, "compression"),
        ({"compression": "zip"}, "compression"),
        ({"rows_per_file": 999}, "rows_per_file"),
        ({"rows_per_file": "many"}, "rows_per_file"),
        ({"whole_range": "yes"}, "whole_range"),
        ({"whole_range": True}, "date"),
    ],
)
def test_bad_formats_are_refused(exports: Exports, body: dict[str, Any], field: str) -> None:
    assert list(exports.refusal(date=DAY, **body)) == [field]


def test_parquet_without_its_package_is_refused_with_a_reason(
    exports: Exports, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.exports.kinds.can_write_parquet", lambda: False)
    errors = exports.refusal(date=DAY, format="parquet")
    assert errors == {"format": ["The format cannot be parquet: headwater[parquet] is not installed."]}


def test_names_say_what_files_hold() -> None:
    for form in (FileForm(file_format, by_gzip) for file_format in Format for by_gzip in (False, True)):
        assert FileForm.parse_name(f"x{form.extension}") == form
    with pytest.raises(ValueError, match="xlsx"):
        FileForm.parse_name("x.xlsx")


@given(sizes=st.lists(st.integers(1, 9), max_size=8), limit=st.integers(1, 12))
def test_lines_are_read_in_files_of_their_size(sizes: list[int], limit: int) -> None:
    numbers = iter(range(sum(sizes)))
    batches = ([str(next(numbers)) for _ in range(size)] for size in sizes)
    reader, files = LineReader(batches, lambda _: None), list[list[str]]()
    while not files or not reader.is_at_end:
        files.append([line for lines in reader.read(limit) for line in lines])
    assert [line for lines in files for line in lines] == [str(n) for n in range(sum(sizes))]
    assert {len(lines) for lines in files[:-1]} <= {limit}
    assert files[-1] or files == [[]]


def test_the_documentation_s_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    column_list = columns(["event_name", "amount"])
    for number in range(2):
        lines = ['{"event_name":"purchase","amount":12.5}'] * 2
        data = in_format(write_parquet, lines, column_list)
        (tmp_path / f"events-{number}.parquet").write_bytes(data)
    page = (ROOT / "docs" / "exports.md").read_text()
    code = re.search(r"```python\n(import duckdb\n.*?)```", page, re.DOTALL)
    assert code is not None
    monkeypatch.chdir(tmp_path)
    exec(code[1], {})
    output = capfd.readouterr().out
    assert "purchase" in output
    assert "50.0000" in output
