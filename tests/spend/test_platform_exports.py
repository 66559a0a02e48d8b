"""Every platform's exports as they are really written: in each of the platform's languages, with any
separator, encoding, format of numbers and days, and with total rows above, below or between. The imported
rows are compared with the written ones, to the cent.

HEADWATER_PLATFORM_EXPORTS makes the run longer.
"""

from __future__ import annotations

import csv
import io
import os
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest

from headwater.intake.imports.formats.choices import FileChoices
from headwater.intake.imports.formats.dialects import UnreadableError
from headwater.spend.models import SpendRow
from tests.support.reading_files import read_as_an_upload, read_at_a_terminal

EXPORTS = int(os.environ.get("HEADWATER_PLATFORM_EXPORTS", "4"))

FILE = Path(__file__).parents[1] / "data" / "exports" / "platform_headers.txt"
HEADERS = {
    tuple(line.split(": ", 1)[0].split()): line.split(": ", 1)[1].split("|")
    for line in FILE.read_text(encoding="utf-8").splitlines()
}
"""By platform and language, the header of an export: a day, a campaign's name and id, an ad set and an ad, an
amount, impressions and clicks, and then further columns.
"""
TOTALS = (
    "Total: Account", "Total : compte", "Total", "Gesamt: Konto", "Gesamtsumme", "Total général",
    "Total general", "Totale", "Total geral", "Totaal", "Suma", "Razem", "合計", "Grand total", "",
)  # fmt: skip
NUMBERS_AS = {
    "1,234.50": ",.", "1.234,50": ".,", "1 234,50": "\u00a0,", "1\u202f234,50": "\u202f,",
    "1'234.50": "'.", "1234.50": "\0.", "1234,50": "\0,",
}  # fmt: skip
"""For each example, the thousands separator (NUL means none) and the decimal sign."""
DAYS_AS = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d %b %Y", "%b %d, %Y",
           "%Y-%m-%d 00:00:00")  # fmt: skip
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252")


@dataclass(frozen=True)
class WrittenFile:
    """A file and its expected rows."""

    content: bytes
    rows: list[SpendRow]


def some_rows(dice: Random, platform: str) -> list[SpendRow]:
    """Return rows at one level of the account, some of them ads without an ad set."""
    level = dice.choice(("campaign", "adset", "ad", "loose ad"))
    first = date(2026, 5, dice.randrange(13, 20))
    return [
        SpendRow(
            date=first + timedelta(day), platform=platform, account_id="",
            campaign_id=f"47{index}", adset_id=f"8{index}" if level in ("adset", "ad") else "",
            ad_id=f"9{index}" if level in ("ad", "loose ad") else "", country="",
            amount=Decimal(dice.randrange(10**6)) / 100, currency="EUR",
            impressions=dice.randrange(10**6), clicks=dice.randrange(2000),
        )
        for day in range(dice.randrange(1, 4))
        for index in range(dice.randrange(1, 4))
    ]  # fmt: skip


@dataclass(frozen=True)
class Style:
    """The format of one file."""

    day: str
    groups: str
    point: str

    def number(self, value: Decimal | int, decimals: int = 0) -> str:
        text = f"{value:,.{decimals}f}"
        return text.translate({ord(","): self.groups.strip("\0"), ord("."): self.point})

    def days(self, *days: date) -> str:
        return " - ".join(day.strftime(self.day) for day in days)


def write_export(dice: Random, platform: str, language: str) -> WrittenFile:
    header, rows = HEADERS[platform, language], some_rows(dice, platform)
    style = Style(dice.choice(DAYS_AS), *NUMBERS_AS[dice.choice([*NUMBERS_AS])])
    extra = ["12" if "eCPM" in name or "Funding" in name else "EUR" for name in header[8:]]
    lines = [
        [
            style.days(row.date), f"Frühling {row.campaign_id}", row.campaign_id,
            row.adset_id or dice.choice(["", "--"]), row.ad_id or " --",
            style.number(row.amount, 2), style.number(row.impressions or 0),
            style.number(row.clicks or 0), *extra,
        ]
        for row in rows
    ]  # fmt: skip
    for position in dice.choice(((), (0,), (-1,), (0, -1))):
        total = [*total_cells(dice, style, rows), *extra]
        lines.insert(position % (len(lines) + 1), total)
    text = write_table(dice, platform, [header, *lines])
    try:
        return WrittenFile(text.encode(dice.choice(ENCODINGS)), rows)
    except UnicodeEncodeError:
        return WrittenFile(text.encode(), rows)


def total_cells(dice: Random, style: Style, rows: list[SpendRow]) -> list[str]:
    """Return a total row: with a label as its day or its campaign, or without names and with the days of all
    rows.
    """
    label, nothing = dice.choice(TOTALS), dice.choice(("", "--", " --"))
    days = style.days(rows[0].date, rows[-1].date)
    day, name = dice.choice(((label, ""), (nothing, label), (days, ""), (days, label)))
    total = style.number(sum(row.amount for row in rows), 2)
    return [day, name, nothing, nothing, nothing, total, style.number(12345), nothing]


def write_table(dice: Random, platform: str, lines: list[list[str]]) -> str:
    """Return the whole text of a file, with its platform's lines above and below the table."""
    text = io.StringIO()
    delimiter = dice.choice(",;\t|")
    before = dice.choice(BEFORE.get(platform, ("", "\n", f"sep={delimiter}\r\n")))
    text.write(before)
    writer = csv.writer(text, delimiter=delimiter, lineterminator=dice.choice(("\r\n", "\n", "\r")))
    writer.writerows(lines)
    if platform == "microsoft":
        text.write('\n"©2026 Microsoft Corporation. All rights reserved. "\n')
    return text.getvalue()


BEFORE = {
    "google": ("", 'Campaign report\n"May 1, 2026 - May 31, 2026"\n', "\nReport\n"),
    "microsoft": ("", '"Report Name: spend"\n"Report Aggregation: Daily"\n"Rows: 2"\n\n'),
}
"""Lines that a platform may write above its table."""


def key(row: SpendRow) -> tuple[object, ...]:
    return (row.date, row.platform, row.campaign_id, row.adset_id, row.ad_id, row.currency,
            row.amount, row.impressions, row.clicks)  # fmt: skip


@pytest.mark.parametrize(("platform", "language"), HEADERS)
def test_it_works(platform: str, language: str) -> None:
    for number in range(EXPORTS):
        export = write_export(Random(f"{platform} {language} {number}"), platform, language)
        for reader in (read_at_a_terminal, read_as_an_upload):
            rows, refusals = reader("spend", export.content)
            message = (number, reader.__name__, export.content[:600], refusals)
            assert sorted(map(key, rows)) == sorted(map(key, export.rows)), message
            assert refusals == [], message
            assert sum(row.amount for row in rows) == sum(row.amount for row in export.rows)


GENERIC = ("Date,Campaign,Spend", "Datum;Kampagne;Kosten", "Jour;Campagne;Dépenses")


@pytest.mark.parametrize("header", GENERIC)
def test_a_table_of_a_platform_that_the_user_names(header: str) -> None:
    separator = ";" if ";" in header else ","
    content = f"{header}\n2026-05-13{separator}Spring{separator}12.34\n".encode()
    with pytest.raises(UnreadableError, match="--platform"):
        read_at_a_terminal("spend", content, constants={"currency": "EUR"})
    constants = {"currency": "EUR", "platform": "taboola"}
    rows, _ = read_at_a_terminal("spend", content, constants=constants)
    assert [(row.platform, row.amount) for row in rows] == [("taboola", Decimal("12.34"))]


META = "Reporting starts,Reporting ends,Campaign name,Amount spent (EUR)\n"


@pytest.mark.parametrize(
    "text",
    [
        "Week,Campaign,Cost,Currency code\n2026-05-11,Spring,5,EUR\n",
        "Woche;Kampagne;Kosten;Währungscode\n11.05.2026;Spring;5,00;EUR\n",
        "Month,Campaign,Cost,Currency code\n2026-05-01,Spring,5,EUR\n",
        "Mois;Campagne;Coût;Code de devise\n2026-05-01;Spring;5,00;EUR\n",
        "月,キャンペーン,費用,通貨コード\n2026-05-01,Spring,5,EUR\n",
        f"{META}2026-05-01,2026-05-31,Spring,5\n",
        f"{META}2026-05-04,2026-05-10,Spring,5\n2026-05-11,2026-05-11,Spring,5\n",
        "Day,Campaign name,Amount spent (EUR)\n2026-05-01 - 2026-05-07,Spring,5\n",
        "Report Aggregation: Weekly\n\nGregorian date,Campaign name,Spend,Impr.\n5/11/2026,x,5,1\n",
        "Start Date,End Date,Campaign Name,Total Spent,Currency\n5/1/2026,5/31/2026,Spring,5,EUR\n",
    ],
)
def test_rows_of_weeks_and_months_are_refused(text: str) -> None:
    for reader in (read_at_a_terminal, read_as_an_upload):
        with pytest.raises(UnreadableError, match="by day"):
            reader("spend", text.encode())


def test_a_row_of_several_days_after_many_of_one_is_refused() -> None:
    days = "".join(f"2026-05-13,2026-05-13,{number},5.00\n" for number in range(150))
    rows, refusals = read_at_a_terminal("spend", f"{META}{days}2026-05-01,2026-05-31,Spring,5.00\n".encode())
    assert len(rows) == 150
    assert [*refusals[0]] == ["date"]
    assert "by day" in refusals[0]["date"][0]


def test_totals_of_an_account_without_campaigns_are_no_days() -> None:
    header = "Reporting starts,Reporting ends,Amount spent (EUR)\n"
    rows, refusals = read_at_a_terminal(
        "spend", f"{header}2026-05-01,2026-05-02,9.00\n2026-05-01,2026-05-01,5.00\n"
        "2026-05-02,2026-05-02,4.00\n".encode()
    )  # fmt: skip
    assert sum(row.amount for row in rows) == 9
    assert len(refusals) == 1


@pytest.mark.parametrize(
    ("header", "amount", "currency"),
    [
        ("Cost (USD)", "5", "USD"), ("Cost [PLN]", "5", "PLN"), ("Cost (€)", "5", "EUR"),
        ("Cost in GBP", "5", "GBP"), ("Cost", "€5.00", "EUR"), ("Cost", "5,00 EUR", "EUR"),
        ("Cost", "£5.00", "GBP"), ("Cost", "5,00 zł", "PLN"), ("Cost", "US$5.00", "USD"),
        ("Cost", "$5.00", None), ("Cost", "5.00", None), ("Cost (net)", "5.00", None),
    ],
)  # fmt: skip
def test_the_currency_of_a_file(header: str, amount: str, currency: str | None) -> None:
    content = f"Day;Campaign;Impr.;{header}\n2026-05-13;Spring;7;{amount}\n".encode()
    if currency is None:
        with pytest.raises(UnreadableError):
            read_at_a_terminal("spend", content)
    else:
        [row], _ = read_at_a_terminal("spend", content)
        assert (row.currency, row.amount) == (currency, 5)


def test_an_amount_in_another_currency_than_its_row_is_refused() -> None:
    content = b"Day,Campaign,Impr.,Cost,Currency code\n2026-05-13,Spring,7,$5.00,EUR\n"
    rows, refusals = read_at_a_terminal("spend", content)
    assert rows == []
    assert [*refusals[0]] == ["currency"]


def test_decimals_that_may_be_thousands_are_asked_for() -> None:
    content = b"Day,Campaign,Currency code,Cost\n2026-05-13,Spring,EUR,1.234\n"
    with pytest.raises(UnreadableError, match=r"Cost.*--decimals point.*--decimals comma"):
        read_at_a_terminal("spend", content)
    for decimals, amount in (("point", "1.234"), ("comma", "1234")):
        [row], _ = read_at_a_terminal("spend", content, FileChoices(decimals=decimals))
        assert row.amount == Decimal(amount)
