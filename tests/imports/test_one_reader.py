"""One reader for every kind of import: a file is read as intended, with any encoding, separator, line
endings, numbers and dates, by the command and as an upload. If something is ambiguous, the user must specify
it.

HEADWATER_WRITTEN_FILES makes the run longer.
"""

from __future__ import annotations

import csv
import io
import os
from datetime import UTC, datetime
from decimal import Decimal
from itertools import product
from random import Random
from typing import Any

import msgspec
import pytest

from headwater.intake.imports.formats.choices import FileChoices
from headwater.intake.imports.formats.dialects import UnreadableError
from tests.support.importing import Importer
from tests.support.reading_files import read_as_an_upload, read_at_a_terminal

FILES = int(os.environ.get("HEADWATER_WRITTEN_FILES", "1"))
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "mac_roman")
SEPARATORS = (",", ";", "\t", "|")
LINE_ENDS = ("\n", "\r\n", "\r")
TIMES = (
    "%Y-%m-%d %H:%M:%S", "%d.%m.%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p",
    "%d %b %Y %H:%M:%S", "%b %d, %Y, %I:%M:%S %p", "%a, %d %b %Y %H:%M:%S GMT", "%Y/%m/%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%SZ",
)  # fmt: skip
AMOUNTS = {
    "12.50": "{:.2f}", "12,50": "{:.2f}", "1,234.50": "{:,.2f}", "1.234,50": "{:,.2f}",
    "1 234,50": "{:,.2f}", "1'234.50": "{:,.2f}", "€ 1.234,50": "€ {:,.2f}",
    "12,50 EUR": "{:.2f} EUR", "€1,234.50": "€{:,.2f}",
}  # fmt: skip
SIGNS = {"12,50": " ,", "1.234,50": ".,", "1 234,50": "\u00a0,", "1'234.50": "'.",
         "€ 1.234,50": ".,", "12,50 EUR": " ,"}  # fmt: skip
"""The separators used instead of the comma and point of AMOUNTS."""
NAMES = ("Müller", "Zoë Größe", 'Said "Ali"', "Straße\n2. Hof", "Señor Café", "Ærø", "a;b,c|d")


def amount_text(style: str, amount: Decimal) -> str:
    text = AMOUNTS[style].format(amount)
    signs = SIGNS.get(style)
    return text.translate({44: signs[0].strip(" "), 46: signs[1]}) if signs else text


def write(rows: list[dict[str, str]], separator: str, line_end: str, dice: Random) -> str:
    text = io.StringIO()
    text.write(dice.choice(("", line_end, f"sep={separator}{line_end}")))
    writer = csv.DictWriter(
        text, [*rows[0]], delimiter=separator, lineterminator=line_end,
        quoting=dice.choice((csv.QUOTE_ALL, csv.QUOTE_MINIMAL)[: 1 if line_end == "\r" else 2]),
    )  # fmt: skip # with "\r" Python leaves cells with "\n" unquoted
    writer.writeheader()
    for row in rows:
        writer.writerow(row)
        text.write(dice.choice(("", "", line_end, separator * (len(row) - 1) + line_end)))
    return text.getvalue()


def encode(text: str, encoding: str) -> bytes:
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return text.encode("utf-8")


def some_events(dice: Random) -> list[tuple[str, Decimal, datetime, str]]:
    """Return orders: one dated after the 12th of its month, and one with an amount in the thousands."""
    return [
        (f"o{number}", Decimal(dice.randrange(100, 10**4) * (100 if number == 1 else 1)) / 100,
         datetime(2026, 5, 28 if number == 0 else dice.randrange(1, 28), 14, 5, number, tzinfo=UTC),
         dice.choice(NAMES) if number else NAMES[1])
        for number in range(4)
    ]  # fmt: skip


_encode = msgspec.json.Encoder(decimal_format="number").encode


def as_dict(item: Any) -> dict[str, Any]:
    return msgspec.json.decode(_encode(item))


@pytest.mark.parametrize(("encoding", "separator"), [*product(ENCODINGS, SEPARATORS)])
def test_it_works(encoding: str, separator: str) -> None:
    """Orders in every encoding and with every separator; everything else is random."""
    for seed in range(FILES * 6):
        dice = Random(f"{encoding} {separator} {seed}")
        style, form = dice.choice([*AMOUNTS]), dice.choice(TIMES)
        events = some_events(dice)
        rows = [
            {"order_id": order, "event_name": "purchase", "email": f"{order}@example.com",
             "amount": amount_text(style, amount), "event_time": moment.strftime(form),
             "full_name": name}
            for order, amount, moment, name in events
        ]  # fmt: skip
        line_end = dice.choice(LINE_ENDS)
        content = encode(write(rows, separator, line_end, dice), encoding)
        for reader in (read_at_a_terminal, read_as_an_upload):
            accepted_rows, refusals = reader("events", content)
            message = (seed, style, form, content[:300], refusals)
            assert refusals == [], message
            items = [as_dict(item) for item in accepted_rows]
            assert [(item["order_id"], Decimal(item["amount"]), item["event_time"] / 1000,
                     item["full_name"].replace("\r", "")) for item in items] == [
                (order, amount, moment.timestamp(), name) for order, amount, moment, name in events
            ], message  # fmt: skip
            currencies = {item.get("currency") for item in items}
            assert currencies == ({"EUR"} if "€" in style or "EUR" in style else {None})


KINDS = {
    "contacts": [{"email": f"a{n}@example.com", "name": name, "profile_field_16": f"{n},5",
                  "profile_field_26": f"2{n}.05.2026"} for n, name in enumerate(NAMES[:4])],
    "touchpoints": [{"email": f"a{n}@example.com", "occurred_at": f"2{n}/05/2026 10:00",
                     "source": "sms", "campaign_name": name} for n, name in enumerate(NAMES[:4])],
    "ads": [{"kind": "ad", "id": f"{n}", "name": name} for n, name in enumerate(NAMES[:4])],
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_other_kind(kind: str) -> None:
    """The same rows in plain UTF-8 with commas, and in every other form."""
    plain, _ = read_at_a_terminal(kind, write(KINDS[kind], ",", "\n", Random(0)).encode())
    assert len(plain) == 4
    for encoding, separator, line_end in product(ENCODINGS, SEPARATORS, LINE_ENDS):
        dice = Random(f"{encoding}{separator}{line_end}")
        content = encode(write(KINDS[kind], separator, line_end, dice), encoding)
        for reader in (read_at_a_terminal, read_as_an_upload):
            accepted_rows, refusals = reader(kind, content)
            assert refusals == [], (encoding, separator, line_end)
            assert [str(item).replace("\\r", "") for item in accepted_rows] == [
                str(item).replace("\\r", "") for item in plain
            ], (encoding, separator, line_end)


UNCLEAR = {
    "amount": ["1.234", "1,234", "12.345", "12,345\n999"],
    "event_time": ["05/06/2026", "5/6/2026 10:00", "05-06-2026", "1/2/26"],
}


@pytest.mark.parametrize(
    ("field", "cell"), [(field, cell) for field, cells in UNCLEAR.items() for cell in cells]
)
def test_cells_with_two_meanings_are_asked_for(field: str, cell: str) -> None:
    cells = cell.split("\n")
    text = f"event_name;email;{field}\n" + "".join(f"purchase;a@b.org;{cell_text}\n" for cell_text in cells)
    with pytest.raises(UnreadableError, match=f"the column {field} is ambiguous"):
        read_at_a_terminal("events", text.encode())
    choices = FileChoices(decimals="comma", dates="dmy")
    accepted_rows, refusals = read_at_a_terminal("events", text.encode(), choices)
    assert len(accepted_rows) == len(cells)
    assert refusals == []


@pytest.mark.parametrize(
    ("field", "cells"),
    [
        ("amount", ["12,50", "12.50"]), ("amount", ["1,234.50", "12 %"]),
        ("amount", ["5.5", "5 x"]), ("amount", ["5.5", "1 2"]), ("amount", ["5.5", "1,23"]),
        ("amount", ["5.5", "five"]),
        ("event_time", ["13.05.2026", "2026-13-05"]), ("event_time", ["13/05/2026", "05/13/2026"]),
        ("event_time", ["2026-05-13", "05/06/2026"]), ("event_time", ["2026-05-13", "soon"]),
        ("event_time", ["2026-05-13", "31 Feb 2026"]), ("currency", ["EUR", "Euros"]),
    ],
)  # fmt: skip
def test_a_refusal_names_the_field(field: str, cells: list[str]) -> None:
    """The first row is accepted and the second is refused."""
    text = f"event_name;email;{field}\n" + "".join(f"purchase;a@b.org;{cell_text}\n" for cell_text in cells)
    accepted_rows, refusals = read_at_a_terminal("events", text.encode())
    assert len(accepted_rows) == 1
    assert [[*errors] for errors in refusals] == [[field]]
    assert field in refusals[0][field][0]


@pytest.mark.parametrize(
    ("text", "encoding", "choice"),
    [("Köln", "mac_roman", None), ("Köln Café für Größe", "mac_roman", "Köln Café für Größe"),
     ("Привет Москва", "cp1251", "Привет Москва"),
     ("注文キャンペーン東京都", "cp932", "注文キャンペーン東京都"),
     ("Łódź Wałęsa", "cp1250", "Łódź Wałęsa")],
)  # fmt: skip
def test_encodings_of_other_languages(text: str, encoding: str, choice: str | None) -> None:
    content = f"email;name\na@example.com;{text}\n".encode(encoding)
    if choice is None:
        with pytest.raises(UnreadableError, match="--encoding"):
            read_at_a_terminal("contacts", content)
    else:
        [contact], _ = read_at_a_terminal("contacts", content)
        assert choice in str(contact)


def test_a_sample_of_a_large_file_ends_between_characters() -> None:
    """Half a character at its end would make the encoding unclear."""
    line = f"キャンペーン {'x' * 105};a@b.org\n".encode("cp932")
    assert 16 * 1024 % len(line) == 1  # the sample's size in bytes
    contacts, _ = read_at_a_terminal("contacts", b"name;email\n" + line * 1000)
    assert "キャンペーン" in str(contacts[0])


def test_an_encoding_that_a_file_cannot_have_is_refused() -> None:
    with pytest.raises(UnreadableError, match="byte order mark"):
        read_at_a_terminal("contacts", b"email\na@b.org\n", encoding="utf-16")
    with pytest.raises(UnreadableError, match="the header has bytes"):
        read_at_a_terminal("contacts", b"email;n\xfcme\na@b.org;x\n", encoding="utf-8")


def test_a_damaged_row_of_utf_8_is_refused_and_the_others_stay_as_they_are() -> None:
    content = "email;name\na@b.org;Müller Größe\nb@b.org;Zoë\n".encode() + b"c@b.org;M\xfcller\n"
    accepted_rows, refusals = read_at_a_terminal("contacts", content)
    assert ["Müller Größe" in str(accepted_rows[0]), "Zoë" in str(accepted_rows[1])] == [True, True]
    assert (len(accepted_rows), len(refusals)) == (2, 1)


def test_a_total_below_orders_is_passed_over() -> None:
    text = "order_id;event_name;email;amount\n1;purchase;a@b.org;5,50\nGesamt;;;5,50\n;;;\n"
    accepted_rows, refusals = read_at_a_terminal("events", text.encode())
    assert (len(accepted_rows), refusals) == (1, [])


def test_at_a_real_terminal(importer: Importer) -> None:
    """Semicolons, decimal commas and Windows-1252 are imported. Options set what is ambiguous."""
    file = importer.folder / "orders.txt"
    file.write_bytes(
        "event_name;email;amount;event_time;full_name\r\n"
        "purchase;a@b.org;1.234,50 €;13.05.2026 10:00;Müller\r\n".encode("cp1252")
    )
    importer.run("events", file)
    [payload] = importer.payloads()
    values = [payload[name] for name in ("amount", "currency", "full_name", "event_time")]
    assert values == ["1234.5", "EUR", "Müller", 1778666400000]
    file.write_bytes(
        b"event_name:email\n".replace(b":", b"|") + "purchase|k\u00f6ln@b.org\n".encode("cp1252")
    )
    options = ("--encoding", "windows-1252", "--separator", "bar", "--dates", "dmy")
    assert importer.run("events", file, *options)["rows"] == 1
    file.write_bytes(b"when;whom\n2026-05-13;a@b.org\n")
    assert "--map" in importer.refusal("events", file)
