"""The files in which the European Central Bank publishes its reference rates. Pure."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal, InvalidOperation

from headwater.rates.store import ReferenceRate

MOST_BYTES = 64 * 1024 * 1024
"""Of a file, unpacked; all rates since 1999 take less than two million."""

_CUBE = re.compile(rb"""<Cube\s+currency=["']([A-Z]{3})["']\s+rate=["']([0-9.]{1,20})["']\s*/>""")


def read_file(content: bytes) -> list[ReferenceRate]:
    """Return the rates of a file: the bank's CSV, as it is or in its ZIP, or its XML. Raises
    ValueError with what is wrong.
    """
    if content.startswith(b"PK"):
        content = _unpacked(content)
    if len(content) > MOST_BYTES:
        raise ValueError("it is too large")
    is_xml = content.lstrip()[:1] == b"<"
    rates = list(_of_xml(content) if is_xml else _of_csv(content.decode("utf-8-sig", "replace")))
    if not rates:
        raise ValueError("there are no rates in it")
    return rates


def _unpacked(content: bytes) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            (entry,) = archive.infolist()
            with archive.open(entry) as file:
                return file.read(MOST_BYTES + 1)
    except (zipfile.BadZipFile, ValueError, EOFError):
        raise ValueError("the compressed file does not hold one table") from None


def _of_csv(text: str) -> Iterator[ReferenceRate]:
    rows = csv.reader(io.StringIO(text))
    header = [name.strip() for name in next(rows, list[str]())]
    if header[:1] != ["Date"]:
        raise ValueError("its first column is not Date")
    for cells in rows:
        if cells and len(cells) < len(header):
            raise ValueError(f"line {rows.line_num} is cut off")
        day = _day(cells[0].strip()) if cells else None
        for currency, cell in zip(header[1:], cells[1:], strict=False):
            rate = _rate(cell.strip())
            if day is not None and rate is not None and re.fullmatch("[A-Z]{3}", currency):
                yield ReferenceRate(day, currency, rate)


def _of_xml(content: bytes) -> Iterator[ReferenceRate]:
    if not content.rstrip().endswith(b"Envelope>"):
        raise ValueError("its end is missing")
    for part in content.split(b"<Cube time=")[1:]:
        match = re.match(rb"""["']([0-9]{4}-[0-9]{2}-[0-9]{2})["']""", part)
        day = _day(match[1].decode()) if match else None
        for currency, number in _CUBE.findall(part):
            rate = _rate(number.decode())
            if day is not None and rate is not None:
                yield ReferenceRate(day, currency.decode(), rate)


def _day(text: str) -> date | None:
    for form in ("%Y-%m-%d", "%d %B %Y"):
        try:
            return datetime.strptime(text, form).date()  # noqa: DTZ007 # a day has no zone
        except ValueError:
            continue
    return None


def _rate(text: str) -> Decimal | None:
    try:
        rate = Decimal(text)
    except InvalidOperation:
        return None  # N/A, of currencies that are no more
    return rate if rate.is_finite() and rate > 0 else None
