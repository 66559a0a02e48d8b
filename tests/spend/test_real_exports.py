"""Exports as platforms and spreadsheets really write them: other languages, encodings and formats of numbers
and days, totals and notes, and rows that the ledger can't store.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from headwater.cli import main
from headwater.intake.imports import importer as import_run
from headwater.intake.imports.file_readings import FileReading, read_file
from headwater.intake.imports.formats.choices import FileChoices
from headwater.intake.imports.formats.columns import Columns
from headwater.intake.imports.formats.files import open_source
from headwater.intake.imports.kinds import KINDS
from headwater.intake.imports.spend_rows import make_total_test
from headwater.spend.file_headers import recognize
from tests.spend.test_spend_import import EXPORTS, write
from tests.support.factories import Stage, make_stage
from tests.support.importing import Importer

FILES = Path(__file__).parents[1] / "data" / "exports"
HEADERS = dict(line.split(": ") for line in (FILES / "meta_headers.txt").read_text().splitlines())
"""The headers of Meta's exports, by language."""
OWN = "date,platform,campaign_id,amount,currency,impressions\n{}"


class Interruption(Exception):
    """Interrupts an import in the middle."""


def ledger(stage: Stage) -> list[tuple[Any, ...]]:
    return stage.connection.execute(
        "SELECT date::text, platform, campaign_id, currency, trim_scale(amount), impressions"
        " FROM spend WHERE space_id = %s ORDER BY date, platform, campaign_id, amount",
        (stage.space_id,),
    ).fetchall()


def test_it_works(importer: Importer, stage: Stage) -> None:
    """Google's “Excel CSV”: UTF-16, tabs, in German."""
    file = write(importer, (FILES / "google_german.csv").read_text(), encoding="utf-16")
    report = importer.run("spend", file)
    assert (report["rows"], report["stored"], report["refused"]) == (2, 2, 0)
    assert ledger(stage) == [
        ("2026-05-13", "google", "4711", "EUR", Decimal("1234.56"), 10000),
        ("2026-05-14", "google", "4711", "EUR", Decimal(0), 0),
    ]
    text = (FILES / "microsoft.csv").read_text()
    importer.run("spend", write(importer, text, "microsoft.csv", "utf-8-sig"))
    assert [row[4] for row in ledger(stage) if row[1] == "microsoft"] == [
        Decimal("12.34"), Decimal("1234.5"),
    ]  # fmt: skip


@pytest.mark.parametrize("language", HEADERS)
def test_meta_in_other_languages(language: str) -> None:
    header_match = recognize(HEADERS[language].split(","))
    assert header_match is not None
    assert (header_match.form.name, header_match.constants["currency"]) == ("meta", "EUR")
    assert {*header_match.columns.values()} == {
        "date", "campaign_name", "campaign_id", "amount", "impressions", "clicks",
        "platform_conversions",
    }  # fmt: skip
    assert header_match.last_day is not None


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("Date,Campaign ID,Campaign Name,Spend,Impressions", None),  # Reddit
        ("Date,Currency,Campaign Name,Impressions,Clicks,Spend", None),  # Amazon
        ("Time period,Campaign name,Spend,Impressions", None),  # X
        ("Day,Campaign,Cost,Clicks", None),  # Criteo
        ("Jour,Campagne,Code devise,Coût,Impr.,Clics", "google"),
        ("Día,Campaña,Código de moneda,Coste,Impr.", "google"),
        ("By Day,Campaign name,Cost (USD),Clicks (destination)", "tiktok"),
    ],
)  # fmt: skip
def test_a_header_that_may_be_anybodys_is_nobodys(header: str, name: str | None) -> None:
    header_match = recognize(header.split(","))
    assert (header_match and header_match.form.name) == name


def reading(importer: Importer, text: str, **choices: Any) -> FileReading:
    with open_source(str(write(importer, text)), None) as source:
        return read_file("spend", source, FileChoices(**choices), {})


@pytest.mark.parametrize(
    ("amounts", "decimals"),
    [
        (("12.34,5", "7.5,1"), "point"), (('"0,123",5',), "comma"), (("1.234.567,5",), "comma"),
        (("1.234,1.000",), "comma"), (('"1,23,456.78",5',), "point"), (("12,5",), "plain"),
        (("1 234.5,5",), "point"),
    ],
)  # fmt: skip
def test_how_numbers_are_written(importer: Importer, amounts: Any, decimals: str) -> None:
    rows = "".join(
        "2026-05-{:02},x,{},{},EUR,{}\n".format(n, n, *cells.rsplit(",", 1))
        for n, cells in enumerate(amounts, 1)
    )
    assert reading(importer, OWN.format(rows)).notation.decimals == decimals


def test_thousands_after_the_first_rows(importer: Importer, stage: Stage) -> None:
    rows = [f"2026-05-{n % 28 + 1:02},x,{n},12.34,EUR,5\n" for n in range(150)]
    last = '2026-05-13,x,999,"1,234.50",EUR,"1,200"\n'
    assert importer.run("spend", write(importer, OWN.format("".join(rows) + last)))["refused"] == 0
    assert ("2026-05-13", "x", "999", "EUR", Decimal("1234.5"), 1200) in ledger(stage)


def slashed(days: list[str]) -> str:
    return OWN.format("".join(f"{day},x,{n},1,EUR,1\n" for n, day in enumerate(days)))


def test_days_that_may_be_read_in_two_ways(importer: Importer, stage: Stage) -> None:
    """The whole file decides, or else the user who imports it."""
    first = [f"{n % 12 + 1:02}/05/2026" for n in range(140)]
    assert reading(importer, slashed([*first, "13/05/2026"])).notation.dates == "dmy"
    assert reading(importer, slashed([*first, "05/13/2026"])).notation.dates == "mdy"
    undecided = write(importer, slashed(first[:3]))
    message = importer.refusal("spend", undecided)
    assert "01/05/2026 may have the day or the month first" in message
    assert "the column date is ambiguous" in message
    assert "--dates dmy" in message
    assert "--dates mdy" in message
    importer.run("spend", undecided, "--dates", "mdy")
    assert [row[0] for row in ledger(stage)] == ["2026-01-05", "2026-02-05", "2026-03-05"]
    assert reading(importer, slashed(["01.05.2026"])).notation.dates == "dmy"


def test_other_ways_to_write_days_and_ids(importer: Importer, stage: Stage) -> None:
    cells = ("2026/05/13,x,'0471", "2026.5.14,x,4711.0", '20260515,x,"=""120210000000000001"""')
    text = OWN.format("".join(f"{cell},1,EUR,1\n" for cell in cells))
    shortened = "2026-05-16,x,1.2021E+17,1,EUR,1\n"
    report = importer.run("spend", write(importer, text + shortened), status=1)
    assert report["refused"] == 1
    assert [row[:3] for row in ledger(stage)] == [
        ("2026-05-13", "x", "0471"), ("2026-05-14", "x", "4711"),
        ("2026-05-15", "x", "120210000000000001"),
    ]  # fmt: skip
    refusal_text = (importer.folder / "spend.csv.refused.ndjson").read_text()
    assert "must be written out: a spreadsheet has made 1.2021E+17 of it" in refusal_text


@pytest.mark.parametrize(
    ("cells", "total"),
    [
        (("Total: Account", "", "5"), True), (("Gesamt: Konto", " --", "5"), True),
        (("", "Resultados totales", "5"), True), (("", "", "5"), True),
        (("Overall total - 12 campaigns", "", "5"), True), (("©2026 Microsoft",), True),
        (("", "", ""), True), (("2026-05-13", "Total Recall", "5"), False),
        (("2026-05-13", "", "5"), False), (("", "Spring", "5"), False),
        (("x", "Spring", "5"), False),
    ],
)  # fmt: skip
def test_totals_and_notes(cells: tuple[str, ...], *, total: bool) -> None:
    header = ("Day", "Campaign", "Cost")
    fields = ("date", "campaign_name", "amount")
    columns = Columns(fields, tuple(zip(header, fields, strict=True)))
    values: dict[str, Any] = dict(zip(header, cells, strict=False))
    assert make_total_test(columns)(values) == total


@pytest.mark.parametrize(
    ("last_day", "campaign", "total"),
    [
        ("2026-05-31", "", True), ("2026-05-01", "", False), ("", "", False),
        ("2026-05-31", "Spring", False),
    ],
)  # fmt: skip
def test_days_of_all_campaigns_are_a_total(last_day: str, campaign: str, *, total: bool) -> None:
    header, fields = ("Starts", "Ends", "Campaign"), ("date", "last_day", "campaign_name")
    columns = Columns(fields, tuple(zip(header, fields, strict=True)))
    values = {"Starts": "2026-05-01", "Ends": last_day, "Campaign": campaign}
    assert make_total_test(columns)(values) == total


def test_a_campaign_may_begin_with_the_word(importer: Importer, stage: Stage) -> None:
    header = "Campaign,Day,Currency code,Cost,Impr.\n"
    rows = "Total Recall,2026-05-13,EUR,5,1\nTotal: Campaigns, --,EUR,5,1\n"
    assert importer.run("spend", write(importer, header + rows))["stored"] == 1
    assert [row[2] for row in ledger(stage)] == ["Total Recall"]


BROKEN_DOWN = {
    "Age and Gender": (
        "Day,Campaign ID,Age,Gender,Amount spent (EUR)\n2026-05-13,1,18-24,male,5\n"
        "2026-05-13,1,25-34,female,6\n"
    ),
    "Platform": (
        "Day,Campaign ID,Platform,Amount spent (EUR)\n2026-05-13,1,facebook,5\n2026-05-13,1,instagram,6\n"
    ),
    "Device": (
        "Day,Campaign ID,Device,Currency code,Cost,CTR\n2026-05-13,1,Mobile,EUR,5,1.2%\n"
        "2026-05-13,1,Computers,EUR,6,3%\n"
    ),
}


@pytest.mark.parametrize("parts", BROKEN_DOWN)
def test_rows_that_the_ledger_has_no_place_for(importer: Importer, parts: str) -> None:
    """Of several rows with one key only the last would count, and the others would be silently lost."""
    message = importer.refusal("spend", write(importer, BROKEN_DOWN[parts]))
    assert f"rows of one day and place differ by {parts}, which is not stored" in message


def test_rows_of_several_days(importer: Importer) -> None:
    header = "Reporting starts,Reporting ends,Campaign ID,Amount spent (EUR)"
    text = f"{header}\n2026-05-01,2026-05-31,1,5\n"
    message = importer.refusal("spend", write(importer, text))
    assert "several days, Reporting starts 2026-05-01 to Reporting ends 2026-05-31" in message


def test_the_same_row_twice_is_one(importer: Importer, stage: Stage) -> None:
    """Rows of one key with different amounts are a finer breakdown, for instance by hour in some language,
    and are refused.
    """
    row = "2026-05-13,1,5,7\n"
    text = f"Day,Campaign ID,Amount spent (EUR),Stunde\n{row}2026-05-13,1,5,8\n"
    importer.run("spend", write(importer, text))
    assert [row[4] for row in ledger(stage)] == [5]
    message = importer.refusal("spend", write(importer, f"{text}2026-05-13,1,6,9\n"))
    assert "two rows of one day and place have the amounts 5 and 6: only the last would count" in message
    own_rows = "2026-05-14,x,1,5,EUR,1\n2026-05-14,x,1,6,EUR,1\n"
    importer.run("spend", write(importer, OWN.format(own_rows)))
    assert [row[4] for row in ledger(stage)] == [5, 6]


def make_table(dice: Random) -> str:
    """Return a table that repeats the rows of some keys; the last row of a key counts."""
    rows = (
        f"2026-05-{dice.randrange(1, 4):02},x,{dice.randrange(3)},{dice.randrange(10**5) / 100},"
        f"EUR,{dice.randrange(99)}\n"
        for _ in range(dice.randrange(3, 14))
    )
    return OWN.format("".join(rows))


def test_ended_anywhere_the_ledger_is_that_of_one_run(
    importer: Importer, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The import is interrupted before a commit or after one, several times, and then run to the end."""
    monkeypatch.setitem(KINDS, "spend", replace(KINDS["spend"], chunk=2))
    for seed in range(int(os.environ.get("HEADWATER_INTERRUPTED_IMPORTS", "3"))):
        dice = Random(seed)
        text = make_table(dice)
        full_stage, parts = make_stage(connection), make_stage(connection)
        file = write(importer, text, f"{seed}.csv")
        importer.importer_for(full_stage).run("spend", file)
        for _ in range(dice.randrange(1, 5)):
            passed = iter(range(dice.randrange(4)))

            def end(_: str, steps: Any = passed) -> None:
                if next(steps, None) is None:
                    raise Interruption

            monkeypatch.setattr(import_run, "failpoint", end)
            try:
                main(["import", "spend", "--space", str(parts.space_id), str(file), "--json"])
            except Interruption:
                continue
        monkeypatch.setattr(import_run, "failpoint", lambda _: None)
        importer.importer_for(parts).run("spend", file)
        assert ledger(parts) == ledger(full_stage), seed
        assert len(ledger(full_stage)) == len({row[:4] for row in ledger(full_stage)})


@pytest.mark.parametrize("point", ["import_before_commit", "import_before_finish"])
def test_killed(importer: Importer, stage: Stage, point: str) -> None:
    file = EXPORTS / "own.csv"
    command = [sys.executable, "-m", "headwater", "import", "spend", "--space",
               str(stage.space_id), str(file)]  # fmt: skip
    killed = subprocess.run(
        command, env={**os.environ, "HEADWATER_FAILPOINT": point}, check=False, capture_output=True
    )
    assert killed.returncode == -signal.SIGKILL
    assert len(ledger(stage)) == (point == "import_before_finish")
    report = importer.run("spend", file)
    assert (report["rows"], report["stored"]) == (1, 1)
    assert len(ledger(stage)) == 1


def test_a_connection_that_is_cut(importer: Importer, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Committed rows stay, and the next run continues after them."""
    monkeypatch.setitem(KINDS, "spend", replace(KINDS["spend"], chunk=1))
    rows = "".join(f"2026-05-{day:02},x,1,{day},EUR,1\n" for day in range(1, 5))
    file = write(importer, OWN.format(rows))
    points = iter(range(3))

    def cut_connection(_: str) -> None:
        if next(points, None) == 2:
            stage.connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                " AND state = 'idle in transaction' AND query LIKE %s",
                ("%imports%",),
            )

    monkeypatch.setattr(import_run, "failpoint", cut_connection)
    assert main(["import", "spend", "--space", str(stage.space_id), str(file)]) == 2
    assert len(ledger(stage)) == 2
    monkeypatch.setattr(import_run, "failpoint", lambda _: None)
    report = importer.run("spend", file)
    assert (report["rows"], report["rows_done_before"]) == (4, 2)
    assert [row[4] for row in ledger(stage)] == [1, 2, 3, 4]
