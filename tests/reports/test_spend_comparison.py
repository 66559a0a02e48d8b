"""GET /reports/spend with `compare`: each figure next to its comparison figure."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from headwater.reports.engine.measures import rounded
from headwater.reports.questions.spend import FIGURES
from tests.reports.test_spend_report import DECODE
from tests.support.factories import Stage
from tests.support.former_networks import put_spend
from tests.support.reading_fixtures import Api

MAY: dict[str, Any] = {"start_date": "2026-05-01 00:00:00", "end_date": "2026-05-31 23:59:59"}
APRIL: dict[str, Any] = {"start_date": "2026-04-01 00:00:00", "end_date": "2026-04-30 23:59:59"}
BEFORE: dict[str, Any] = {"compare": "previous_period"}


def report(api: Api, status: int = 200, **params: Any) -> Any:
    response = api.get("/reports/spend", params={**MAY, **params})
    assert response.status_code == status, response.text
    return DECODE(response.content)


def rows_by_key(answer: Any) -> dict[Any, dict[str, Any]]:
    """Return the rows by key, each a dict of its columns."""
    rows = (dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"])
    return {row[answer["columns"][0]]: row for row in rows}


@pytest.fixture
def space(stage: Stage, api: Api) -> Stage:
    """A Space in euros with sales and spend in two months; for Meta only in April, for X only in May."""
    stage.connection.execute(
        "UPDATE spaces SET currency = 'EUR', timezone = 'UTC', cost_rate = 40 WHERE id = %s",
        (stage.space_id,),
    )
    for source, amount, day in (
        ("google_ads", 60, "2026-04-13"), ("google_ads", 100, "2026-05-13"),
        ("facebook_ads", 30, "2026-04-20"), ("email", 20, "2026-05-14"),
    ):  # fmt: skip
        contact_id = stage.contact()
        stage.touchpoint(contact_id, source, occurred_at=f"{day} 11:00:00+00")
        stage.event(contact_id, amount=amount, event_time=f"{day} 12:00:00+00")
    spent = [
        {"date": day, "platform": platform, "amount": amount, "currency": currency, "clicks": 7}
        for day, platform, amount, currency in (
            ("2026-04-12", "google", 20, "EUR"), ("2026-05-12", "google", 25, "EUR"),
            ("2026-04-19", "meta", 10, "USD"), ("2026-05-20", "x", 5, "EUR"),
            ("2026-04-30", "billboard", 8, "EUR"), ("2026-05-31", "billboard", 4, "EUR"),
        )
    ]  # fmt: skip
    assert put_spend(api, spent).status_code == 200
    return stage


@pytest.fixture
def rates(api: Api) -> None:
    rate = {"date": "2026-04-19", "base": "USD", "currency": "EUR", "rate": "0.5"}
    assert api.send("PUT", "/rates", json={"rates": [rate]}).status_code == 200


@pytest.mark.usefixtures("space")
@pytest.mark.parametrize(
    ("compare", "reason"),
    [("none", None), ("previous_period", None), ("previous_year", "before_first_event")],
)
def test_a_range_before_the_first_event_is_not_compared(api: Api, compare: str, reason: str | None) -> None:
    assert report(api, compare=compare)["not_compared"] == reason


@pytest.mark.usefixtures("space", "rates")
def test_it_works(api: Api) -> None:
    answer = report(api, **BEFORE)
    assert answer["compared_period"] == APRIL
    google = rows_by_key(answer)["google"]
    figures = ("spend", "spend_before", "spend_change", "roas", "roas_before", "roas_change")
    assert [google[name] for name in figures] == [25, 20, Decimal("0.25"), 4, 3, Decimal("0.3333")]
    email = rows_by_key(answer)["email"]
    assert [email[f"credited_revenue{end}"] for end in ("", "_before", "_change")] == [20, 0, None]
    assert (email["roas_before"], email["roas_change"]) == (None, None)
    assert "meta" not in rows_by_key(answer)
    assert [answer["totals"][f"spend{end}"] for end in ("", "_before", "_change")] == [
        34, 33, Decimal("0.0303"),
    ]  # fmt: skip
    assert [answer["unmatched"][f"spend{end}"] for end in ("", "_before", "_change")] == [
        4, 8, Decimal("-0.5"),
    ]  # fmt: skip


@pytest.mark.usefixtures("space", "rates")
@pytest.mark.parametrize("group", ["none", "platform", "source", "campaign", "country"])
def test_a_comparison_is_the_reports_of_both_times(api: Api, group: str) -> None:
    comparison = report(api, group_by=group, **BEFORE)
    now, previous_report = (report(api, group_by=group, **span) for span in (MAY, APRIL))
    for name in ("totals", "with_spend", "unmatched"):
        check(comparison[name], now[name], previous_report[name])
    compared, rows, before = rows_by_key(comparison), rows_by_key(now), rows_by_key(previous_report)
    assert list(compared) == list(rows)
    for key, row in rows.items() if group != "none" else ():
        check(compared[key], row, before.get(key))


def check(comparison_row: dict[str, Any], row: dict[str, Any], former_row: dict[str, Any] | None) -> None:
    """Compare figures with both reports; a missing row counts as zeros without ratios."""
    for name in FIGURES:
        before = former_row[name] if former_row else None if name in ("roas", "cpa", "cac") else 0
        assert (comparison_row[name], comparison_row[f"{name}_before"]) == (row[name], before), name
        change = None
        if row[name] is not None and before:
            change = rounded((Fraction(row[name]) - Fraction(before)) / abs(Fraction(before)))
        reported_change = comparison_row[f"{name}_change"]
        # Figures are rounded to four decimals; changes are computed from exact figures.
        assert reported_change == change or abs(reported_change - change) < Decimal("0.001"), name


@pytest.mark.usefixtures("space", "rates")
def test_times_stand_beside_those_of_the_other_time(api: Api) -> None:
    days = rows_by_key(report(api, group_by="day", **BEFORE))
    assert (days["2026-05-12"]["spend"], days["2026-05-12"]["spend_before"]) == (25, 20)
    assert (days["2026-05-20"]["spend"], days["2026-05-20"]["spend_before"]) == (5, 0)
    assert (days["2026-05-31"]["spend"], days["2026-05-31"]["spend_before"]) == (4, None)
    months = rows_by_key(report(api, group_by="month", compare="previous_year"))
    assert months["2026-05-01"]["spend_before"] is None, "there was nothing yet"


@pytest.mark.usefixtures("space", "rates")
def test_as_csv(api: Api) -> None:
    text = api.get("/reports/spend", params={**MAY, **BEFORE}, accept="text/csv").text
    table = list(csv.DictReader(io.StringIO(text)))
    names = ("platform", "spend", "spend_before", "spend_change")
    assert [tuple(row[name] for name in names) for row in table] == [
        ("google", "25", "20", "0.25"), ("x", "5", "0", ""), ("email", "0", "0", ""),
        ("", "4", "8", "-0.5"),
    ]  # fmt: skip


@pytest.mark.usefixtures("space")
def test_each_time_names_what_it_leaves_out(api: Api) -> None:
    answer = report(api, **BEFORE)
    assert [answer[name] for name in ("left_out_money", "compared_left_out_money")] == [[], []]
    assert answer["left_out_spend"] == []
    assert [entry["currency"] for entry in answer["compared_left_out_spend"]] == ["USD"]
    assert report(api)["compared_left_out_spend"] is None
