"""How a file is interpreted: its encoding, separator, columns, amounts and dates."""

from __future__ import annotations

import csv
import io
from datetime import datetime
from decimal import Decimal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headwater.intake.imports.formats.amounts import DecimalsSurvey
from headwater.intake.imports.formats.dialects import (
    DELIMITERS,
    Dialect,
    FileSurvey,
    UnreadableError,
    detect_delimiter,
    read_dialect,
)
from headwater.intake.imports.formats.guesses import guess_columns
from headwater.intake.imports.formats.notation import Notation
from headwater.intake.imports.formats.times import DatesSurvey
from headwater.intake.imports.kinds import KINDS
from headwater.intake.imports.uploads import sample_rows

WORD = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=12)
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"]


def guess_dialect(content: bytes) -> Dialect:
    survey = FileSurvey()
    for start in range(0, len(content), 3):  # chunks end in the middle of a character
        survey.add(content[start : start + 3])
    survey.finish()
    return read_dialect(survey)


@settings(deadline=None)
@given(
    delimiter=st.sampled_from([*DELIMITERS]), encoding=st.sampled_from(ENCODINGS),
    rows=st.lists(st.lists(WORD, min_size=3, max_size=3), min_size=1, max_size=8),
)  # fmt: skip
@example(delimiter=";", encoding="utf-8", rows=[["\u2028;", "a", "b,"]])
def test_it_works(delimiter: str, encoding: str, rows: list[list[str]]) -> None:
    """A table is read as it was written, whatever its cells contain."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerow(["Order", "E-Mail", "Total"])
    writer.writerows(rows)
    content = text.getvalue().encode(encoding)
    dialect = guess_dialect(content)
    assert dialect.delimiter == delimiter
    columns, sample = sample_rows(content, dialect, is_whole_file=True)
    assert columns == ["Order", "E-Mail", "Total"]
    assert [[*row.values.values()] for row in sample] == rows


@pytest.mark.parametrize(
    "content", [b"\0", b"email\0,n\na@b.org,x\n", b"\x7fELF\2\1\1" + bytes(9) + b"\xff" * 200]
)
def test_a_file_that_is_no_text_is_refused(content: bytes) -> None:
    with pytest.raises(UnreadableError, match="not a text file"):
        guess_dialect(content)


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b,c\n1,2,3\n", ","),
        ("a;b;c\n1,5;2,5;3\n", ";"),
        ("a\tb\n1;2\t3,4\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ("sep=;\na;b\n", ";"),
        ("Name, first;Total\n1;2,5\n3;4\n", ";"),
        ('"a,b";c\n"1,2";3\n', ";"),
        ("email\na@example.com\n", ","),
        ("", ","),
    ],
)
def test_what_separates_cells(text: str, delimiter: str) -> None:
    assert detect_delimiter(text) == delimiter


def test_latin_1_is_told_from_utf_8() -> None:
    assert guess_dialect("Straße;Größe\nä;ö\n".encode("cp1252")).encoding == "cp1252"
    assert guess_dialect("Straße;Größe\nä;ö\n".encode()).encoding == "utf-8-sig"


@pytest.mark.parametrize(
    ("kind", "header", "fields"),
    [
        # Shopify's export of orders
        ("events", "Name,Email,Financial Status,Paid at,Total,Currency,Billing Name,Phone,Id",
         {"Id": "order_id", "Email": "email", "Paid at": "event_time", "Total": "amount",
          "Currency": "currency", "Billing Name": "full_name", "Phone": "phone"}),
        # WooCommerce's
        ("events", "Order Number,Order Date,First Name (Billing),Order Total,Email (Billing)",
         {"Order Number": "order_id", "Order Date": "event_time", "Order Total": "amount"}),
        ("events", "event_name,email,amount,order_id,event_time,utm_source",
         {"event_name": "event_name", "email": "email", "amount": "amount",
          "order_id": "order_id", "event_time": "event_time", "utm_source": "trk_source"}),
        ("events", "Bestellnummer,Datum,Betrag,E-Mail-Adresse,Vorname,Nachname",
         {"Bestellnummer": "order_id", "Datum": "event_time", "Betrag": "amount",
          "E-Mail-Adresse": "email", "Vorname": "first_name", "Nachname": "last_name"}),
        ("events", "total,amount,x", {"amount": "amount"}),
        ("contacts", "E-mail address,Full name,Telephone,VIP",
         {"E-mail address": "email", "Full name": "name", "Telephone": "phone"}),
        ("touchpoints", "visited at,page,utm_source,mail",
         {"visited at": "occurred_at", "page": "url", "utm_source": "source",
          "mail": "email"}),
        ("ads", "kind,id,name,platform,spend",
         {"kind": "kind", "id": "id", "name": "name", "platform": "platform"}),
    ],
)  # fmt: skip
def test_columns_are_known_by_their_names(kind: str, header: str, fields: dict[str, str]) -> None:
    columns = header.split(",")
    assert guess_columns(kind, KINDS[kind].fields, columns, []) == fields


def test_a_column_of_addresses_is_the_email() -> None:
    rows = [{"who": "ada@example.com", "x": "a"}, {"who": "", "x": "b@example.com"}]
    assert guess_columns("events", KINDS["events"].fields, ["x", "who"], rows) == {"who": "email"}


def guess_decimals(samples: list[str]) -> str | None:
    survey = DecimalsSurvey()
    for sample in samples:
        survey.add(sample)
    return survey.decide()


def guess_dates(samples: list[str]) -> str | None:
    survey = DatesSurvey()
    for sample in samples:
        survey.add(sample)
    return survey.decide()


@settings(deadline=None)
@given(st.decimals(-(10**9), 10**9, places=2), st.booleans())
def test_amounts_are_read_as_they_were_meant(amount: Decimal, comma: bool) -> None:
    text = f"{amount:,.2f}"
    if comma:
        text = text.translate(str.maketrans(",.", ".,"))
    notation = Notation("comma" if comma else "point")
    assert Decimal(notation.number(text) or "") == amount
    assert guess_decimals([text]) == notation.decimals


@pytest.mark.parametrize(
    ("samples", "decimals"),
    [
        (["12.50", "1234.50"], "point"), (["5", "7"], "plain"), (["12,50"], "comma"),
        (["1.234,50"], "comma"), (["1,234.50"], "point"), (["1,234"], None),
        (["1.234"], None), (["1 234,50 €"], "comma"), (["€12.50"], "point"),
        (["1'234.50"], "point"), ([], "plain"), (["", "x"], "plain"), (["1.234", "5.6"], "point"),
        (["1.234", "12345"], "point"), (["1,234", "12345"], "comma"), (["1.234.567"], "comma"),
        (["0.123"], "point"), (["1.234", "1,234"], None), (["5 000", "7"], "plain"),
    ],
)  # fmt: skip
def test_how_amounts_are_written(samples: list[str], decimals: str | None) -> None:
    assert guess_decimals(samples) == decimals


@pytest.mark.parametrize(
    ("decimals", "text", "number"),
    [
        ("comma", "1 234,50 €", "1234.50"), ("comma", "1.234", "1234"), ("comma", "-5", "-5"),
        ("point", "$1,234.5", "1234.5"), ("point", "12,50", None),
        ("comma", "1,234.50", None), ("comma", "viel", None), ("plain", "1,5", None),
        ("comma", "9" * 200, None), ("comma", "12.50", None), ("point", "1,2345", None),
        ("plain", "1 2", None), ("plain", "12 %", None), ("plain", "5 apples", None),
        ("plain", "(12.50)", "-12.50"), ("plain", "12.50-", "-12.50"), ("plain", "(-5)", None),
        ("plain", "\u22125", "-5"), ("point", "1,23,456.5", "123456.5"), ("plain", ".5", ".5"),
        ("comma", "1\u202f234,5", "1234.5"), ("comma", "12 EUR", "12"), ("plain", "- 5", "-5"),
    ],
)  # fmt: skip
def test_numbers_in_cells(decimals: str, text: str, number: str | None) -> None:
    assert Notation(decimals).number(text) == number


@pytest.mark.parametrize(
    ("samples", "dates"),
    [
        (["2026-05-13"], "iso"), (["13.05.2026"], "dmy"), (["05/13/2026"], "mdy"),
        (["13/05/2026"], "dmy"), (["05/06/2026"], None), (["05.06.2026"], "dmy"), ([], "iso"),
        (["soon"], "iso"), (["05/06/2026", "05/13/2026"], "mdy"), (["05-06-2026"], None),
        (["5/5/2026"], "iso"), (["26 Nov 2026"], "iso"), (["05/06/2026", "2026-05-13"], None),
    ],
)  # fmt: skip
def test_how_dates_are_written(samples: list[str], dates: str | None) -> None:
    assert guess_dates(samples) == dates


@settings(deadline=None)
@given(st.datetimes(datetime(2000, 1, 1), datetime(2099, 1, 1)))  # noqa: DTZ001
def test_dates_are_read_as_they_were_meant(moment: datetime) -> None:
    moment = moment.replace(microsecond=0)
    for dates, form in (("dmy", "%d.%m.%Y %H:%M:%S"), ("mdy", "%m/%d/%Y %I:%M:%S %p")):
        assert Notation(dates=dates).time(moment.strftime(form)) == moment.isoformat()


def test_what_is_no_date_is_left_as_it_is() -> None:
    notation = Notation(dates="dmy")
    assert notation.time("2026-05-13 10:00") == "2026-05-13 10:00"
    assert notation.time("5.6.26") == "2026-06-05"
    assert notation.time("13.05.2026, 09:30") == "2026-05-13T09:30:00"
    assert notation.time("tomorrow") == "tomorrow"
