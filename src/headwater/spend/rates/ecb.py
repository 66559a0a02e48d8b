"""Parse the European Central Bank's reference rate files. Pure."""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal

from headwater.spend.rates.store import ReferenceRate

MAX_BYTES = 64 * 1024 * 1024
"""Of an uncompressed file; all rates since 1999 take less than two million."""

_SUPPORTED_FILES = (
    "it must be eurofxref.zip, eurofxref-hist.zip, the CSV file in these, eurofxref-daily.xml, "
    "eurofxref-hist-90d.xml or eurofxref-hist.xml"
)
_CUBE = re.compile(rb"<Cube\s([^<>]{1,200})>")
_ATTRIBUTE = re.compile(rb"""([a-z]{1,20})\s?=\s?["']([^"']{1,40})["']""")
_NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?")
_NO_RATE = {"", "N/A", "-"}
"""For currencies that didn't exist on a day, and days without a rate."""


def read_file(content: bytes) -> list[ReferenceRate]:
    """Return the rates of a file: the bank's CSV, also zipped, or its XML. Raises ValueError on any error."""
    if content.startswith(b"PK"):
        content = _unzip(content)
    if len(content) > MAX_BYTES:
        raise ValueError("it is too large")
    is_xml = content.lstrip()[:1] == b"<"
    try:
        rates = list(_read_xml(content) if is_xml else _read_csv(content.decode("utf-8-sig", "replace")))
    except csv.Error as error:
        raise ValueError(f"it is not readable as CSV: {error}") from None
    if not rates:
        raise ValueError("it has no rates")
    return rates


def _unzip(content: bytes) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            (entry,) = archive.infolist()
            with archive.open(entry) as file:
                return file.read(MAX_BYTES + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError):
        raise ValueError("the compressed file must hold exactly one table") from None


def _read_csv(text: str) -> Iterator[ReferenceRate]:
    rows = csv.reader(io.StringIO(text, newline=""))
    header = [name.strip() for name in next(rows, list[str]())]
    if header[:1] != ["Date"]:
        raise ValueError(_SUPPORTED_FILES)
    for cells in rows:
        line_name = f"line {rows.line_num}"
        if not any(cells):
            continue
        if len(cells) < len(header):
            raise ValueError(f"{line_name} is incomplete")
        day = _parse_day(cells[0].strip(), line_name)
        for currency, cell in zip(header[1:], cells[1:], strict=False):
            if cell.strip() not in _NO_RATE:
                yield _parse_rate(day, currency, cell.strip(), line_name)


def _read_xml(content: bytes) -> Iterator[ReferenceRate]:
    if b"<Cube" not in content:
        raise ValueError(_SUPPORTED_FILES)
    if not content.rstrip().endswith(b"Envelope>"):
        raise ValueError("its end is missing")
    day: date | None = None
    for match in _CUBE.finditer(content):
        attributes = {name.decode(): text.decode() for name, text in _ATTRIBUTE.findall(match[1])}
        if "time" in attributes:
            day = _parse_day(attributes["time"], "a Cube")
        elif day is None:
            raise ValueError("a rate has no day")
        else:
            currency, rate = (attributes.get(name, "") for name in ("currency", "rate"))
            yield _parse_rate(day, currency, rate, f"the day {day}")


def _parse_day(text: str, place: str) -> date:
    for form in ("%Y-%m-%d", "%d %B %Y"):
        try:
            return datetime.strptime(text, form).date()  # noqa: DTZ007 # a day has no zone
        except ValueError:
            continue
    raise ValueError(f"{place} has no date such as 2026-11-23 or 23 November 2026")


def _parse_rate(day: date, currency: str, text: str, place: str) -> ReferenceRate:
    if not re.fullmatch("[A-Z]{3}", currency):
        raise ValueError(f"{place} has a rate without a three-letter currency")
    if not _NUMBER.fullmatch(text) or not Decimal(text):
        raise ValueError(f"{place} has a rate for {currency} that is not a number such as 1.0865")
    return ReferenceRate(day, currency, Decimal(text))
