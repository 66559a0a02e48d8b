"""`headwater import spend`: which platform's export a file is, and the rows it puts into the ledger."""

from __future__ import annotations

import os
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headwater.spend.file_formats import FORMATS
from headwater.spend.file_headers import recognize
from tests.support.factories import Stage
from tests.support.importing import Importer

EXPORTS = Path(__file__).parent.parent / "data" / "spend"
GOOGLE, META, TIKTOK, LINKEDIN, MICROSOFT, GA4, DBT, OWN = (
    (EXPORTS / f"{name}.csv").read_text()
    for name in ("google", "meta", "tiktok", "linkedin", "microsoft", "ga4", "dbt", "own")
)


def stored_rows(stage: Stage) -> list[tuple[Any, ...]]:
    return stage.connection.execute(
        "SELECT date::text, platform, account_id, campaign_id, adset_id, ad_id, currency, amount,"
        " impressions, clicks, platform_conversions, platform_revenue, timezone, as_of::text, place"
        " FROM spend WHERE space_id = %s ORDER BY date, campaign_id, place",
        (stage.space_id,),
    ).fetchall()


def write(importer: Importer, text: str, name: str = "spend.csv", encoding: str = "utf-8") -> Path:
    file = importer.folder / name
    file.write_text(text, encoding=encoding)
    return file


def test_it_works(importer: Importer, stage: Stage) -> None:
    file = write(importer, GOOGLE)
    os.utime(file, (1780000000, 1780000000))
    options = ("--timezone", "Europe/Berlin")
    assert importer.run("spend", file, *options) == {
        "rows": 2, "stored": 2, "refused": 0, "rows_done_before": 0, "dry_run": False,
        "finished_before": None, "reasons": {}, "refused_file": None,
    }  # fmt: skip
    google_cells = ("google", "1234567890", "4711", "8", "9", "EUR")
    as_of = "2026-05-28 20:26:40+00"
    assert stored_rows(stage) == [
        ("2026-05-13", *google_cells, Decimal("1234.56"), 10000, 31, Decimal("1.5"), Decimal("99.9"),
         "Europe/Berlin", as_of, 1),
        ("2026-05-14", *google_cells, Decimal(0), None, 0, Decimal(0), Decimal(0), "Europe/Berlin",
         as_of, 2),
    ]  # fmt: skip
    names = stage.connection.execute(
        "SELECT kind, id, name FROM ad_names WHERE space_id = %s ORDER BY kind", (stage.space_id,)
    ).fetchall()
    assert names == [("adset", "8", "Shoes"), ("campaign", "4711", "Spring")]
    assert importer.run("spend", file, *options)["finished_before"] is not None


@pytest.mark.parametrize(
    ("text", "platform", "options", "adset"),
    [
        (META, "meta", (), "8"),
        (TIKTOK, "tiktok", (), "8"),
        (MICROSOFT, "microsoft", (), "8"),
        (GA4, "meta", ("--currency", "USD"), ""),
        (DBT, "reddit", ("--currency", "USD"), "8"),
        (OWN, "snapchat", (), ""),
    ],
    ids=["meta", "tiktok", "microsoft", "ga4", "dbt", "own"],
)
def test_exports_are_known_by_their_header(
    importer: Importer, stage: Stage, text: str, platform: str, options: Any, adset: str
) -> None:
    importer.run("spend", write(importer, text), *options)
    [row] = stored_rows(stage)
    assert row[:2] + row[3:5] + row[6:10] == (
        "2026-05-13", platform, "4711", adset, "USD", Decimal("12.34"), 1000, 31,
    )  # fmt: skip


def test_lines_before_the_header_and_other_encodings(importer: Importer, stage: Stage) -> None:
    importer.run("spend", write(importer, LINKEDIN, encoding="utf-16"))
    [row] = stored_rows(stage)
    assert row[:8] == (
        "2026-05-13", "linkedin", "", "77", "4711", "", "USD", Decimal("12.34"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "name"),
    [(GOOGLE, "google"), (META, "meta"), (TIKTOK, "tiktok"), (LINKEDIN, "linkedin"),
     (MICROSOFT, "microsoft"), (GA4, "ga4"), (DBT, "dbt"), (OWN, "headwater")],
    ids=["google", "meta", "tiktok", "linkedin", "microsoft", "ga4", "dbt", "own"],
)  # fmt: skip
def test_columns_may_stand_in_any_order_and_be_written_otherwise(text: str, name: str) -> None:
    """Unknown columns may be among them."""
    separator = "\t" if name == "linkedin" else ","
    lines = (line.split(separator) for line in text.splitlines())
    header = next(cells for cells in lines if len(cells) > 5)
    header_match = recognize(header)
    assert header_match is not None
    for seed in range(30):
        rng = random.Random(seed)
        titles = [*header, "Status", "Budget"]
        rng.shuffle(titles)
        written_titles = {
            title: rng.choice((title, title.upper(), title.replace(" ", "_"))) for title in titles
        }
        second_match = recognize([written_titles[title] for title in titles])
        assert second_match is not None
        assert second_match.form.name == header_match.form.name == name
        assert second_match.columns == {
            written_titles[title]: field for title, field in header_match.columns.items()
        }
        assert second_match.constants == header_match.constants


WRITTEN_IN_TESTS = {"pinterest", "snapchat", "reddit", "x"}
"""Formats that test_platform_exports.py writes files in."""


def test_every_format_is_tested() -> None:
    assert {form.name for form in FORMATS} == {
        "google", "meta", "tiktok", "linkedin", "microsoft", "ga4", "dbt", "headwater",
        *WRITTEN_IN_TESTS,
    }  # fmt: skip


def test_what_cannot_be_known_is_said(importer: Importer) -> None:
    message = importer.refusal("spend", write(importer, "a,b\n1,2\n"))
    assert "the header matches no known format" in message
    assert "--currency EUR" in importer.refusal("spend", write(importer, GA4))
    ahead = ("--as-of", "2199-01-01")
    assert "more than 24 hours ahead" in importer.refusal("spend", write(importer, OWN), *ahead)


@pytest.mark.parametrize(
    "text", [f"{'x' * 65_490}\n{OWN}", OWN.replace("\n", f"{',' * 66_000}\n", 1)], ids=["words", "columns"]
)
def test_a_header_that_ends_too_late_is_refused(importer: Importer, text: str) -> None:
    assert "the header matches no known format" in importer.refusal("spend", write(importer, text))


def test_columns_can_be_named(importer: Importer, stage: Stage) -> None:
    file = write(importer, "tag,kosten,kampagne\n13.05.2026,12.34,Spring\n14.05.2026,1,Spring\n")
    assert "--map" in importer.refusal("spend", file)
    map_options = [f"--map={mapping}" for mapping in ("tag=date", "kosten=amount", "kampagne=campaign_name")]
    options = (*map_options, "--currency", "EUR", "--platform", "Google Ads")
    assert importer.run("spend", file, *options)["stored"] == 2
    own_file = write(importer, OWN.replace("amount", "cost"))
    importer.run("spend", own_file, "--map", "cost=amount", "--layout", "google")
    assert [(row[0], row[1], row[3]) for row in stored_rows(stage)] == [
        ("2026-05-13", "google", "4711"), ("2026-05-13", "google", "Spring"),
        ("2026-05-14", "google", "Spring"),
    ]  # fmt: skip


def test_an_older_export_does_not_replace_a_newer_one(importer: Importer, stage: Stage) -> None:
    newer = write(importer, OWN.replace("12.34", "20"), "newer.csv")
    older = write(importer, OWN, "older.csv")
    importer.run("spend", newer, "--as-of", "2026-06-01")
    importer.run("spend", older, "--as-of", "2026-05-20")
    assert [row[7] for row in stored_rows(stage)] == [20]


def test_a_dry_run_stores_nothing_and_names_what_is_refused(importer: Importer, stage: Stage) -> None:
    file = write(importer, OWN + "2026-05-14,snapchat,4711,lots,USD,1,1\n")
    report = importer.run("spend", file, "--dry-run", status=1)
    assert (report["rows"], report["stored"], report["refused"]) == (2, 1, 1)
    assert stored_rows(stage) == []


def test_lines_of_json(importer: Importer, stage: Stage) -> None:
    """A number may come first, where a CSV file may have the word for a total."""
    row = {"amount": 1.5, "date": "2026-05-13", "platform": "x", "currency": "EUR"}
    rows = row, {**row, "amount": "2.5"}, {**row, "date": "2026-05-14"}
    importer.run("spend", importer.write("spend.ndjson", *rows))
    assert [row[7] for row in stored_rows(stage)] == [Decimal("2.5"), Decimal("1.5")]
