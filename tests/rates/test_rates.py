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
from headwater.rates.ecb import read_file
from headwater.rates.exchange import RateTable, converted
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
    ("change", "place", "rule"),
    [
        ({"rate": 0}, "rates.0.rate", "must be from 0.000000000001 to 1000000000000."),
        ({"currency": "EUR"}, "rates.0", "must be of two currencies."),
        ({"date": "2026-02-30"}, "rates.0.date", "must be a date that exists."),
    ],
)
def test_what_breaks_a_rule_is_refused(api: Api, change: Any, place: str, rule: str) -> None:
    response = api.send("PUT", "/rates", json={"rates": [rate(**change)]})
    assert response.json()["errors"] == {place: [f"The {place} {rule}"]}


@pytest.mark.parametrize("text", [OF_ALL_DAYS, OF_A_DAY, XML], ids=["history", "day", "xml"])
def test_the_banks_files(text: str) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("eurofxref.csv", text)
    for content in (text.encode(), packed.getvalue()):
        rates = {(each.date, each.currency): each.per_euro for each in read_file(content)}
        assert rates[DAY, "USD"] == Decimal("1.0865")
        assert rates[DAY, "JPY"] == Decimal("161.25")


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PK\x03\x04broken", b"<html></html>",
                                     OF_ALL_DAYS[:-8].encode(), XML[:-9].encode()])  # fmt: skip
def test_other_files_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_file(content)


def test_rates_of_all_spaces_come_after_a_spaces_own(
    stage: Stage, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    file = tmp_path / "eurofxref-hist.csv"
    file.write_text(OF_ALL_DAYS)
    assert main(["rates", "import", str(file)]) == 0
    stored = stage.connection.execute(
        "SELECT currency, per_euro FROM reference_rates WHERE date = %s ORDER BY currency", (DAY,)
    ).fetchall()
    assert stored == [("JPY", Decimal("161.25")), ("USD", Decimal("1.0865"))]
    both = RateTable(
        {DAY: {("EUR", "USD"): Fraction(2)}}, {DAY: {"USD": Fraction(1), "JPY": Fraction(100)}}
    )
    assert both.rate(DAY, "EUR", "USD") == 2
    assert both.rate(DAY, "USD", "JPY") == 100
    assert both.rate(DAY, "CHF", "JPY") is None


def test_amounts_are_rounded_half_to_even() -> None:
    rates = [converted(amount, Fraction(1, 2), 100) for amount in (100, 300, 500, -100, 101)]
    assert rates == [0, 200, 200, 0, 100]
