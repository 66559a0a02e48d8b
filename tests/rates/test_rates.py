"""Exchange rates: a Space's own, and the files of the European Central Bank."""

from __future__ import annotations

import io
import zipfile
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from headwater.cli import main
from headwater.spend.rates.ecb import read_file
from headwater.spend.rates.exchange import RateTable, convert
from tests.support.factories import Stage
from tests.support.reading_fixtures import Api

DAY = date(2026, 11, 20)
OF_ALL_DAYS = "Date,USD,JPY,CYP,\n2026-11-20,1.0865,161.25,N/A,\n2026-11-19,1.08,160,0.58,\n"
OF_A_DAY = "Date, USD, JPY, \n20 November 2026, 1.0865, 161.25, \n"
XML = """<?xml version="1.0" encoding="UTF-8"?><gesmes:Envelope><Cube>
<Cube time='2026-11-20'><Cube currency='USD' rate='1.0865'/>
<Cube currency='JPY' rate='161.25'/></Cube>
</Cube></gesmes:Envelope>"""


def rate(**change: Any) -> dict[str, Any]:
    return {"date": "2026-11-20", "base": "eur", "currency": "USD", "rate": 1.0865, **change}


def test_it_works(api: Api) -> None:
    response = api.send("PUT", "/rates", json={"rates": [rate(), rate(rate="1.09")]})
    assert (response.status_code, response.json()) == (200, {"message": "2 rates are stored."})
    assert api.get("/rates").json()["data"] == [rate(base="EUR", rate=1.09)]


@pytest.mark.parametrize(
    ("change", "field", "rule"),
    [
        ({"rate": 0}, "rates.0.rate", "must be from 0.000000000001 to 1000000000000."),
        ({"currency": "EUR"}, "rates.0", "must have two different currencies."),
        ({"date": "2026-02-30"}, "rates.0.date", "must be a date that exists."),
    ],
)
def test_what_breaks_a_rule_is_refused(api: Api, change: Any, field: str, rule: str) -> None:
    response = api.send("PUT", "/rates", json={"rates": [rate(**change)]})
    assert response.json()["errors"] == {field: [f"The {field} {rule}"]}


@pytest.mark.parametrize(
    "text",
    [OF_ALL_DAYS, OF_A_DAY, XML, OF_ALL_DAYS.replace("\n", "\r"), OF_ALL_DAYS.replace("\n", "\r\n\r\n")],
    ids=["history", "day", "xml", "carriage returns", "blank lines"],
)
def test_the_banks_files(text: str) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("eurofxref.csv", text)
    for content in (text.encode(), buffer.getvalue()):
        rates = {(euro_rate.date, euro_rate.currency): euro_rate.per_euro for euro_rate in read_file(content)}
        assert rates[DAY, "USD"] == Decimal("1.0865")
        assert rates[DAY, "JPY"] == Decimal("161.25")


def make_archive(*names: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in names:
            archive.writestr(name, OF_ALL_DAYS)
    return content.getvalue()


def change_archive(**positions: int) -> bytes:
    """Return an archive with other bytes at positions of its header and of its directory's."""
    content = bytearray(make_archive("a.csv"))
    directory = content.index(b"PK\x01\x02")
    content[6] = content[directory + 8] = positions.get("flags", 0)
    content[8] = content[directory + 10] = positions.get("method", 0)
    return bytes(content)


SDMX = "<CompactData><Series CURRENCY='USD'><Obs OBS_VALUE='1.1'/></Series></CompactData>"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it must be eurofxref.zip"), (b"a,b\n1,2\n", "it must be eurofxref.zip"),
        (b"KEY,FREQ,CURRENCY,TIME_PERIOD,OBS_VALUE\n", "eurofxref-hist.xml"),
        (SDMX.encode(), "it must be"), (b"<html></html>", "it must be"),
        (b"PK\x03\x04broken", "must hold exactly one table"),
        (make_archive("a.csv", "b.csv"), "must hold exactly one table"),
        *((change_archive(**change), "must hold exactly one table")
          for change in ({"flags": 1}, {"method": 99}, {"method": 8}, {"method": 12})),
        (b"Date,USD,\n2026-11-20,1" + b"0" * 300_000, "not readable as CSV"),
        (b"<Envelope><Cube currency='USD' rate='1.1'/></Envelope>", "a rate has no day"),
        (OF_ALL_DAYS[:-8].encode(), "line 3 is incomplete"), (XML[:-9].encode(), "its end is missing"),
        (b"Date,USD,\n", "it has no rates"), (b"Date,USD,\n2026-11-20,N/A,\n", "it has no rates"),
        (b"Date,USD,\n20.11.2026,1.1,\n", "line 2 has no date such as"),
        (b'Date,USD,\n2026-11-20,"1,1",\n', "line 2 has a rate for USD that is not a number"),
        (b"Date,USD,\n2026-11-20,0,\n", "line 2 has a rate for USD"),
        (b"Date,Dollar,\n2026-11-20,1.1,\n", "line 2 has a rate without a three-letter currency"),
        (XML.replace("1.0865", "x").encode(), "2026-11-20 has a rate for USD that is not a number"),
    ],
)  # fmt: skip
def test_other_files_are_refused_by_name(content: bytes, reason: str) -> None:
    """No part of a file is silently ignored."""
    with pytest.raises(ValueError, match=reason):
        read_file(content)


def test_currencies_that_have_ended_and_days_without_rates() -> None:
    """Bulgaria adopted the euro in 2026; the bank is closed from Good Friday to Monday."""
    text = (
        "Date,USD,BGN,HRK,\n2026-04-07,1.2,N/A,N/A,\n2026-04-02,1.1,N/A,N/A,\n"
        "2025-12-31,1.05,1.9558,N/A,\n2022-12-30,1.07,1.9558,7.5365,\n"
    )
    per_euro: dict[date, dict[str, Fraction]] = {}
    for euro_rate in read_file(text.encode()):
        per_euro.setdefault(euro_rate.date, {})[euro_rate.currency] = Fraction(euro_rate.per_euro)
    rates = RateTable({}, per_euro)
    easter = {rates.rate(date(2026, 4, day), "EUR", "USD") for day in range(2, 7)}
    assert easter == {Fraction("1.1")}
    assert rates.rate(date(2026, 4, 7), "EUR", "USD") == Fraction("1.2")
    assert rates.rate(date(2026, 1, 7), "BGN", "USD") == Fraction("1.05") / Fraction("1.9558")
    assert rates.rate(date(2026, 1, 8), "BGN", "EUR") is None
    assert rates.rate(date(2023, 1, 6), "HRK", "EUR") == 1 / Fraction("7.5365")
    own_rates = RateTable({date(2026, 1, 8): {("EUR", "BGN"): Fraction("1.95583")}}, per_euro)
    assert own_rates.rate(date(2026, 1, 8), "BGN", "EUR") == 1 / Fraction("1.95583")


def test_a_rate_of_ones_own_before_the_banks_of_the_same_day_alone() -> None:
    friday, monday = date(2026, 11, 20), date(2026, 11, 23)
    rates = RateTable(
        {friday: {("EUR", "USD"): Fraction(2)}},
        {friday: {"USD": Fraction(1), "GBP": Fraction(4)}, monday: {"USD": Fraction(3)}},
    )
    days = [friday, date(2026, 11, 22), monday]
    assert [rates.rate(day, "EUR", "USD") for day in days] == [2, 2, 3]
    assert rates.rate(friday, "USD", "GBP") == 4
    # Converted without intermediate rounding: 100 dollars are exactly 100/3 euros.
    assert convert(100_0000, rates.rate(monday, "USD", "EUR") or Fraction(0), 100) == 33_3300


def test_rates_of_all_spaces_come_after_a_spaces_own(
    stage: Stage, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    file = tmp_path / "eurofxref-hist.csv"
    file.write_text(OF_ALL_DAYS)
    assert main(["rates", "import", str(file)]) == 0
    rows = stage.connection.execute(
        "SELECT currency, per_euro FROM reference_rates WHERE date = %s ORDER BY currency", (DAY,)
    ).fetchall()
    assert rows == [("JPY", Decimal("161.25")), ("USD", Decimal("1.0865"))]
    rates = RateTable({DAY: {("EUR", "USD"): Fraction(2)}}, {DAY: {"USD": Fraction(1), "JPY": Fraction(100)}})
    assert rates.rate(DAY, "EUR", "USD") == 2
    assert rates.rate(DAY, "USD", "JPY") == 100
    assert rates.rate(DAY, "CHF", "JPY") is None


def test_amounts_are_rounded_half_to_even() -> None:
    rates = [convert(amount, Fraction(1, 2), 100) for amount in (100, 300, 500, -100, 101)]
    assert rates == [0, 200, 200, 0, 100]
