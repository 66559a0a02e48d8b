"""The same spend, written in the various ways of spreadsheets and platforms, is read as the same rows: in any
language, encoding and notation, with any separator, with lines before the header and totals below.

HEADWATER_WRITTEN_EXPORTS makes the run longer.
"""

from __future__ import annotations

import csv
import io
from datetime import date
from decimal import Decimal
from pathlib import Path
from random import Random

from headwater.intake.imports.file_readings import read_file
from headwater.intake.imports.formats.choices import FileChoices
from headwater.intake.imports.formats.columns import typed
from headwater.intake.imports.formats.files import open_source
from headwater.intake.imports.spend import DAY, NUMBERS, read
from headwater.intake.imports.spend_rows import make_total_test
from headwater.spend.models import SpendRow
from tests.support.campaigns import campaign_size

EXPORTS = campaign_size("HEADWATER_WRITTEN_EXPORTS", 60, 5000)
FILES = Path(__file__).parents[1] / "data" / "exports"
HEADERS = [line.split(": ")[1].split(",") for line in (FILES / "google_headers.txt").read_text().splitlines()]
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252")
NUMBERS_AS = {
    "1,234.50": ",.", "1.234,50": ".,", "1 234,50": "\u00a0,", "1'234.50": "'.", "1234.50": " .",
    "1234,50": " ,",
}  # fmt: skip
"""For each example, the thousands separator (a blank means none) and the decimal sign."""
DAYS_AS = ("%Y-%m-%d", "%Y%m%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d")

Row = tuple[date, str, str, str, Decimal, int, int]


def some_rows(dice: Random) -> list[Row]:
    """Return some days' spend. One day is after the twelfth, so that month and day can be distinguished, and
    an amount and a count may be in the thousands.
    """
    days = [date(2026, 5, dice.randrange(1, 28)) for _ in range(dice.randrange(1, 6))]
    large = dice.choice((1, 1000))
    return [
        (day, dice.choice(("Frühling", "Summer")), f"{4711 + index}", "EUR",
         Decimal(dice.randrange(10**5) * large) / 100, dice.randrange(10**6), dice.randrange(500))
        for index, day in enumerate([*days, date(2026, 5, 28)])
    ]  # fmt: skip


def write_table(dice: Random, rows: list[Row]) -> bytes:
    header, encoding = dice.choice(HEADERS), dice.choice(ENCODINGS)
    thousands, point = NUMBERS_AS[dice.choice([*NUMBERS_AS])]
    day_as = dice.choice(DAYS_AS)
    names = [*header]
    dice.shuffle(names)

    def number(value: Decimal | int, decimals: int) -> str:
        text = f"{value:,.{decimals}f}"
        return text.translate({ord(","): thousands.strip(" "), ord("."): point})

    text = io.StringIO()
    writer = csv.writer(text, delimiter=dice.choice(",;\t"))
    for line in dice.choice(([], ["Report"], ["Report", "May 1, 2026 - May 31, 2026"], ["", "x"])):
        text.write(f"{line}\n")
    writer.writerow(names)
    for row in rows:
        cells = (*row[:4], number(row[4], 2), number(row[5], 0), number(row[6], 0))
        by_name = dict(zip(header, (row[0].strftime(day_as), *cells[1:]), strict=True))
        writer.writerow([by_name[name] for name in names])
    if dice.random() < 0.5:
        total = {header[0]: dice.choice(("", " --")), header[4]: number(sum(r[4] for r in rows), 2)}
        first = dice.choice(("Total: Account", "Gesamt: Konto", "Total : compte"))
        cells = [total.get(name, "") for name in names]
        writer.writerow([first if names[0] in (header[0], header[1]) else cells[0], *cells[1:]])
    return text.getvalue().encode(encoding)


def as_read(file: Path) -> list[SpendRow]:
    with open_source(str(file), None) as source:
        reading = read_file("spend", source, FileChoices(), {})
        is_total, rows = make_total_test(reading.columns), []
        for row in reading.source.rows():
            if not is_total(row.values):
                values = reading.columns.pick(row.values)
                typed(values, NUMBERS, (), reading.notation)
                values[DAY] = reading.notation.time(values[DAY])
                rows.append(read(values, 0.0))
        return rows


def test_however_it_is_written_it_is_read_as_it_was_meant(tmp_path: Path) -> None:
    file = tmp_path / "spend.csv"
    for number in range(EXPORTS):
        dice = Random(number)
        rows = some_rows(dice)
        file.write_bytes(write_table(dice, rows))
        read_rows = [
            (row.date, row.names[0][2], row.campaign_id, row.currency, row.amount,
             row.impressions, row.clicks)
            for row in as_read(file)
        ]  # fmt: skip
        assert read_rows == rows, (number, file.read_bytes()[:300])
