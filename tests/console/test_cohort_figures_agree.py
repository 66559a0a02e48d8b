"""A cohort report has one definition: the Cohorts page, its CSV, the API, its CSV and assistants have the
same figures, equal to plain models to the last digit; or all of them refuse it because a rate is missing.

HEADWATER_COHORT_REPORTS makes the run longer, HEADWATER_FIRST_COHORT_REPORT starts it with another report.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import msgspec

from headwater.assistants.mcp.local_times import add_local_times
from headwater.attribution.models import MODELS
from headwater.console.report_pages.cohorts import FIGURES
from headwater.console.report_pages.figures import NO_FIGURE
from headwater.reports.questions.shared import format_figure
from headwater.sources.ad_platforms import find_billing_platform, platform_title
from headwater.sources.titles import format_title
from tests.console.conftest import Person
from tests.console.tables import Cell, PageTables
from tests.console.test_spend_figures_agree import CONVERSIONS
from tests.console.test_spend_figures_agree import assistant as assistant  # noqa: PLC0414 # a fixture
from tests.console.test_spend_figures_agree import stage as stage  # noqa: PLC0414 # a fixture
from tests.mcp.assistants import Assistant
from tests.reports.cohort_court import csv_lines, find_faults
from tests.reports.spend_worlds import Rates, World, some_names, some_row, some_sales, written_rates
from tests.support.campaigns import campaign_size
from tests.support.factories import Stage
from tests.support.former_networks import put_spend
from tests.support.report_model.counting import round_figure
from tests.support.report_model.spend import Spending
from tests.support.trained_models import plant_trained_model

REPORTS = campaign_size("HEADWATER_COHORT_REPORTS", 12, 1000)
FIRST = int(os.environ.get("HEADWATER_FIRST_COHORT_REPORT", "0"))
OF_A_WORLD = 6
"""Reports of each random Space."""
AGO = (130, 90, 50)
"""About how many days ago people come and buy; all of these days are past by some margin."""
GROUPS = ("source", "source", "campaign", "campaign", "channel", "adset", "ad", "keyword", "none")
ZONES = ("UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Tokyo")
PARTLY = ("source:google_ads", "source:facebook_ads", "campaign:1", "campaign:Spring", "adset:2")


TRAINED_MODELS = {"May": {"google_ads": 3, "email": 1}, "June": {"facebook_ads": 1, "direct": 2}}


def make_world(stage: Stage, client: httpx.Client, number: int) -> World:
    dice = Random(number)
    zone, rate = dice.choice(ZONES), dice.choice((None, Decimal("33.33"), Decimal(40)))
    world = World(stage.connection, stage.space_id)
    world.begin(zone, rate)
    some_names(dice, stage)
    today = datetime.now(UTC).date()
    rows: list[dict[str, Any]] = []
    for ago in AGO:
        first = today - timedelta(days=ago)
        for _ in range(2):
            some_sales(dice, stage, zone, first_day=first)
        rows += [some_row(dice, first_day=first) for _ in range(dice.randrange(9))]
    world.rates = some_rates(dice, today)
    if rows:
        response = put_spend(client, rows)
        assert response.status_code == 200, response.text
    if rates := written_rates(world.rates):
        response = client.put("/rates", json={"rates": rates})
        assert response.status_code == 200, response.text
    world.note(rows)
    return world


def some_rates(dice: Random, today: date) -> Rates:
    """Return rates of most days. Some Spaces have a gap longer than a rate is valid."""
    gap_start = today - timedelta(days=dice.randrange(170)) if dice.random() < 0.3 else None
    rates: Rates = {}
    for ago in range(190):
        day = today - timedelta(days=ago)
        if not dice.randrange(3) or (gap_start and gap_start <= day < gap_start + timedelta(days=14)):
            continue
        for pair in (("USD", "EUR"), ("EUR", "JPY")):
            rates[day, *pair] = Fraction(dice.randrange(1, 30_000), 10_000)
    return rates


def some_question(dice: Random) -> dict[str, Any]:
    """Return a random question with the API's parameter names."""
    today = datetime.now(UTC).date()
    first, last = sorted(today - timedelta(days=dice.randrange(170)) for _ in range(2))
    if dice.random() < 0.6:
        first, last = today - timedelta(days=dice.randrange(90, 170)), today
    question: dict[str, Any] = {
        "start_date": f"{first} 00:00:00", "end_date": f"{last} 23:59:59",
        "group_by": dice.choice(GROUPS), "attribution_model": dice.choice(sorted(MODELS)),
        "attribution_window": dice.choice((1, 7, 30, 0)),
        "currency": dice.choice(("EUR", "EUR", "EUR", "USD")), "limit": 1000,
    }  # fmt: skip
    if dice.random() < 0.2:
        question["event_names"] = ["purchase"]
    if dice.random() < 0.3:
        question["only"] = dice.sample(PARTLY, dice.randint(1, 2))
    if question["attribution_model"] == "markov" and dice.random() < 0.5:
        question["trained_model"] = "June"
    return question


def test_page_csv_api_assistant_and_model(
    owner: Person, stage: Stage, client: httpx.Client, assistant: Assistant
) -> None:
    for name, worth in TRAINED_MODELS.items():
        plant_trained_model(
            stage.connection, stage.space_id, name, proportions=worth, current=name == "May"
        )  # fmt: skip
    for number in range(FIRST, FIRST + REPORTS):
        if number == FIRST or not number % OF_A_WORLD:
            world = make_world(stage, client, number // OF_A_WORLD)
            spendings = {target: world.spending(target) for target in ("EUR", "USD")}
        parameters = some_question(Random(f"cohorts {number}"))
        spending = spendings[parameters["currency"]]
        question = (parameters, ZoneInfo(world.zone))
        faults = [*compare_interfaces(owner, client, assistant, spending, question)]
        assert faults == [], (number, parameters)


def compare_interfaces(
    owner: Person, client: httpx.Client, assistant: Assistant, spending: Spending,
    question: tuple[dict[str, Any], ZoneInfo],
) -> Iterator[str]:  # fmt: skip
    """Yield the differences between any two interfaces to a report.

    Assistants read times in the Space's zone.
    """
    parameters, zone = question
    response = client.get("/reports/cohorts", params=parameters)
    answer = msgspec.json.decode(response.content)
    yield from find_faults(answer, spending, parameters, datetime.now(zone).date())
    result = assistant.result("query_spend", {**parameters, "cohorts": 1})
    if response.status_code != 200:
        yield from ["an assistant has it"] * (not result.get("isError"))
        return
    for name, value in add_local_times(answer, zone).items():
        if result["structuredContent"].get(name) != value:
            yield f"an assistant has another {name}"
    text = client.get("/reports/cohorts", params=parameters, headers={"Accept": "text/csv"}).text
    if list(csv.reader(text.splitlines()))[1:] != [*csv_lines(answer, format_figure)]:
        yield "CSV is another"
    if parameters["currency"] == "EUR" and parameters["group_by"] != "none":
        yield from compare_page(owner, assistant.space_id, answer, text, parameters)
    if parameters["currency"] == "EUR" and parameters["group_by"] == "source":
        platforms = client.get("/reports/cohorts", params={**parameters, "group_by": "platform"}).json()
        yield from compare_sources(owner, assistant.space_id, answer, platforms, parameters)


def compare_page(
    owner: Person, space_id: int, answer: dict[str, Any], text: str, parameters: dict[str, Any]
) -> Iterator[str]:
    """Yield the differences of the page, or of its CSV, from the answer."""
    figures = [name for name in FIGURES if name != "contribution" or answer["cost_rate"]]
    figure = Random(f"{parameters}").choice(figures)
    params = {**page_parameters(parameters), "figure": figure}
    path = f"/console/spaces/{space_id}/cohorts"
    if owner.browser.get(f"{path}.csv?{httpx.QueryParams(params)}").text != text:
        yield "the page's CSV is another"
    page = PageTables(owner.browser.get(f"{path}?{httpx.QueryParams(params)}").text)
    totals = answer["totals"]
    if not any(row["new_customers"] or row["spend"] for row in totals):
        if "No first orders in this period" not in page.html:
            yield "the page has something"
        return
    for cells, row in zip(page.tables["cohorts"][1:], totals, strict=True):
        yield from _compare_cells(cells, row, figure)
    if parameters["group_by"] == "source":
        return
    groups = [{**group, "spend": group["spend"] or None} for group in answer["groups"]]
    by_key = [*groups, *([{}] if answer["unattributed"] else []), _sum(totals)]
    for cells, row in zip(page.tables["keys"][1:], by_key, strict=True):
        if row:
            yield from _compare_row(cells, row)
    yield from _compare_unmatched(page, _add_spend(answer["unmatched"]))


def page_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    params = {name: value for name, value in parameters.items() if name not in ("limit", "currency")}
    params["group"] = params.pop("group_by")
    names = params.pop("event_names", None)
    return {**params, "conversion": CONVERSIONS[names and names[0]]}


def compare_sources(
    owner: Person,
    space_id: int,
    answer: dict[str, Any],
    platforms: dict[str, Any],
    parameters: dict[str, Any],
) -> Iterator[str]:
    """Yield the differences of the page by source, which also has rows of the platforms that bill several."""
    path = f"/console/spaces/{space_id}/cohorts?{httpx.QueryParams(page_parameters(parameters))}"
    page = PageTables(owner.browser.get(path).text)
    if "keys" not in page.tables:
        return
    sources = {format_title(row["key"]): row for row in answer["groups"]}
    billed = {platform_title(row["key"]): row for row in platforms["groups"] if row["key"] and row["spend"]}
    missing_titles, row_spend = set(sources), Decimal(0)
    for cells in page.tables["keys"][1:]:
        title = cells[0].text
        if title in sources:
            missing_titles.remove(title)
            yield from _compare_row(cells, {**sources[title], "spend": sources[title]["spend"] or None})
        elif title in billed:
            row_spend += Decimal(repr(billed[title]["spend"]))
            yield from _compare_row(cells, billed[title])
    for title in missing_titles:
        platform = billed[platform_title(find_billing_platform(sources[title]["key"]) or "")]
        if sources[title]["revenue"] != platform["revenue"]:
            yield f"the page lacks {title}"
    yield from _compare_unmatched(page, _add_spend(answer["unmatched"]) - row_spend)


def _compare_row(cells: list[Cell], row: dict[str, Any]) -> Iterator[str]:
    right = [row.get(name) for name in ("new_customers", "spend", "cac", "revenue")]
    values = [cell.value or "" for cell in cells[1:5]]
    if values != list(map(format_figure, right)):
        yield f"the page has {values} instead of {right}: {cells[0].text}"


def _compare_unmatched(page: PageTables, unmatched: Decimal) -> Iterator[str]:
    in_no_row = re.search(r'<data value="([^"]+)">[^<]+</data> EUR of spend is not in any row', page.html)
    if (Decimal(in_no_row[1]) if in_no_row else 0) != unmatched:
        yield f"the page has other spend in no row than {unmatched}"


def _add_spend(months: list[dict[str, Any]]) -> Decimal:
    return sum((Decimal(repr(row["spend"])) for row in months), Decimal(0))


def _sum(totals: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the sums over all months."""
    spend = _add_spend(totals)
    revenue = sum((Decimal(repr(row["cumulative_revenue"][-1])) for row in totals), Decimal(0))
    new = sum(row["new_customers"] for row in totals)
    cac = float(round_figure(Fraction(spend) / new)) if spend and new else None
    return {
        "new_customers": new, "spend": float(spend), "cac": cac, "revenue": float(revenue)
    }  # fmt: skip


def _compare_cells(cells: list[Cell], row: dict[str, Any], figure: str) -> Iterator[str]:
    """Yield the differences in a month's row of the page."""
    new = row["new_customers"]
    right = [new, row["spend"], row["cac"]]
    values = [cell.value or "" for cell in cells[1:4]]
    if values != list(map(format_figure, right)):
        yield f"the page has {values} instead of {right}: {cells[0].text}"
    paid = {
        "reached": f"month {row['payback_month']}",
        "not_yet": "not yet",
        "no_spend": f"{NO_FIGURE} No spend in this month",
    }
    if cells[4].text.strip() != paid[row["payback"]]:
        yield f"the page has {cells[4].text} paid back: {row['payback']} {row['payback_month']}"
    if not new:
        since: list[Any] = []
    elif figure == "retention":
        since = [float(round_figure(Fraction(customers, new))) for customers in row["customers"]]
    else:
        since = row[figure]
    values = [cell.value or "" for cell in cells[5:]]
    if figure == "retention":
        values = [format_figure(float(round_figure(Fraction(value)))) for value in values]
    if values != list(map(format_figure, since)):
        yield f"the page has {figure} {values} instead of {since}: {cells[0].text}"
