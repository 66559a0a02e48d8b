"""The files in which the European Central Bank publishes its reference rates. Pure."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal

from headwater.spend.rates.store import ReferenceRate

MOST_BYTES = 64 * 1024 * 1024
"""Of a file, unpacked; all rates since 1999 take less than two million."""

_TAKEN = (
    "it is none of eurofxref.zip, eurofxref-hist.zip, the CSV in these, eurofxref-daily.xml, "
    "eurofxref-hist-90d.xml and eurofxref-hist.xml"
)
_CUBE = re.compile(rb"<Cube\s([^<>]{1,200})>")
_ATTRIBUTE = re.compile(rb"""([a-z]{1,20})\s?=\s?["']([^"']{1,40})["']""")
_NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?")
_NO_RATE = {"", "N/A", "-"}
"""Of currencies that are no more, or were none yet, and of days for which the bank had none."""


def read_file(content: bytes) -> list[ReferenceRate]:
    """Return the rates of a file: the bank's CSV, as it is or in its ZIP, or its XML. Raises
    ValueError with what is wrong: nothing of a file is left out unsaid.
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
        raise ValueError(_TAKEN)
    for cells in rows:
        place = f"line {rows.line_num}"
        if not any(cells):
            continue
        if len(cells) < len(header):
            raise ValueError(f"{place} is cut off")
        day = _day(cells[0].strip(), place)
        for currency, cell in zip(header[1:], cells[1:], strict=False):
            if cell.strip() not in _NO_RATE:
                yield _rate(day, currency, cell.strip(), place)


def _of_xml(content: bytes) -> Iterator[ReferenceRate]:
    if b"<Cube" not in content:
        raise ValueError(_TAKEN)
    if not content.rstrip().endswith(b"Envelope>"):
        raise ValueError("its end is missing")
    day: date | None = None
    for match in _CUBE.finditer(content):
        attributes = {name.decode(): text.decode() for name, text in _ATTRIBUTE.findall(match[1])}
        if "time" in attributes:
            day = _day(attributes["time"], "a Cube")
        elif day is None:
            raise ValueError("a rate has no day")
        else:
            currency, rate = (attributes.get(name, "") for name in ("currency", "rate"))
            yield _rate(day, currency, rate, f"the day {day}")


def _day(text: str, place: str) -> date:
    for form in ("%Y-%m-%d", "%d %B %Y"):
        try:
            return datetime.strptime(text, form).date()  # noqa: DTZ007 # a day has no zone
        except ValueError:
            continue
    raise ValueError(f"{place} has no day like 2026-11-23 or 23 November 2026")


def _rate(day: date, currency: str, text: str, place: str) -> ReferenceRate:
    if not re.fullmatch("[A-Z]{3}", currency):
        raise ValueError(f"{place} has a rate of no currency of three letters")
    if not _NUMBER.fullmatch(text) or not Decimal(text):
        raise ValueError(f"{place} has a rate of {currency} that is no number like 1.0865")
    return ReferenceRate(day, currency, Decimal(text))
