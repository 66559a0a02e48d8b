"""A spend report has one definition: the Campaigns page, its CSV, the API, its CSV and assistants have the
same figures, equal to a plain model to the last digit; or all of them refuse it because a rate is missing.

HEADWATER_SPEND_REPORTS makes the run longer, HEADWATER_FIRST_SPEND_REPORT starts it with another report.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

import httpx
import msgspec
import psycopg
import pytest

from headwater.console.ad_pages.ad_columns import COLUMNS
from headwater.reports.questions.shared import format_figure
from tests.conftest import Running
from tests.console.conftest import Person
from tests.console.tables import Cell, PageTables
from tests.mcp.assistants import Assistant, connect
from tests.reports.spend_court import find_faults
from tests.reports.spend_worlds import (
    ZONES,
    World,
    some_names,
    some_question,
    some_rates,
    some_row,
    some_sales,
    written_rates,
)
from tests.support.campaigns import campaign_size
from tests.support.factories import Stage
from tests.support.former_networks import put_spend
from tests.support.report_model.spend import Spending

REPORTS = campaign_size("HEADWATER_SPEND_REPORTS", 12, 1000)
FIRST = int(os.environ.get("HEADWATER_FIRST_SPEND_REPORT", "0"))
OF_A_WORLD = 6
"""Reports of each random Space."""
MOST_ROWS = 12
CONVERSIONS = {None: "any", "purchase": "sales", "sign_up": "sign_up"}
"""The page's name for counted events, by the first event name."""


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


@pytest.fixture
def assistant(server: Running, connection: psycopg.Connection, space_id: int) -> Iterator[Assistant]:
    with connect(server, connection, space_id) as assistant:
        yield assistant


def make_world(stage: Stage, client: httpx.Client, number: int) -> World:
    dice = Random(number)
    zone, rate = dice.choice(ZONES), dice.choice((None, Decimal("33.33"), Decimal(40)))
    world = World(stage.connection, stage.space_id)
    world.begin(zone, rate)
    some_sales(dice, stage, zone)
    some_names(dice, stage)
    rows = [some_row(dice) for _ in range(dice.randrange(MOST_ROWS))]
    world.rates = some_rates(dice)
    if rates := written_rates(world.rates):
        response = client.put("/rates", json={"rates": rates})
        assert response.status_code == 200, response.text
    if rows:
        response = put_spend(client, rows)
        assert response.status_code == 200, response.text
    world.note(rows)
    return world


def test_page_csv_api_assistant_and_model(
    owner: Person, stage: Stage, client: httpx.Client, assistant: Assistant
) -> None:
    for number in range(FIRST, FIRST + REPORTS):
        if number == FIRST or not number % OF_A_WORLD:
            world = make_world(stage, client, number // OF_A_WORLD)
            spendings = {target: world.spending(target) for target in ("EUR", "USD")}
        parameters = some_question(Random(f"report {number}"))
        faults = compare_interfaces(owner, client, assistant, spendings[parameters["currency"]], parameters)
        assert faults == [], (number, parameters)


def compare_interfaces(
    owner: Person, client: httpx.Client, assistant: Assistant, spending: Spending,
    parameters: dict[str, Any],
) -> list[str]:  # fmt: skip
    """Return the differences between any two interfaces to a report."""
    response = client.get("/reports/spend", params=parameters)
    answer = msgspec.json.decode(response.content)
    faults = find_faults(answer, spending, parameters)
    result = assistant.result("query_spend", parameters)
    if response.status_code != 200:
        return faults + ["an assistant has it"] * (not result.get("isError"))
    faults += [
        f"an assistant has another {name}"
        for name in answer
        if name != "snapshot" and result["structuredContent"].get(name) != answer[name]
    ]
    text = client.get("/reports/spend", params=parameters, headers={"Accept": "text/csv"}).text
    faults += ["CSV is another"] * (list(csv.reader(text.splitlines())) != csv_lines(answer))
    if parameters["currency"] == "EUR":
        faults += compare_page(owner, assistant.space_id, answer, text, parameters)
    return faults


def csv_lines(answer: dict[str, Any]) -> list[list[str]]:
    """Return the lines of an answer's CSV."""
    names = 0 if answer["columns"][0] == "spend" else 2
    if not names:
        totals = [format_figure(answer["totals"][name]) for name in answer["columns"]]
        return [answer["columns"], totals]
    rows = [[*(cell or "" for cell in row[:2]), *map(format_figure, row[2:])] for row in answer["rows"]]
    unmatched = [format_figure(answer["unmatched"][name]) for name in answer["columns"][2:]]
    return [answer["columns"], *rows, ["", "unmatched", *unmatched]]


def compare_page(
    owner: Person, space_id: int, answer: dict[str, Any], text: str, parameters: dict[str, Any]
) -> Iterator[str]:
    """Yield the differences of the page, or of its CSV, from the answer."""
    if parameters["group_by"] == "none":
        return
    params = {name: value for name, value in parameters.items() if name not in ("limit", "currency")}
    params["group"] = params.pop("group_by")
    names = params.pop("event_names", None)
    params["conversion"] = CONVERSIONS[names and names[0]]
    path = f"/console/spaces/{space_id}/campaigns"
    file = owner.browser.get(f"{path}.csv?{httpx.QueryParams(params)}")
    if file.text != text:
        yield "the page's CSV is another"
    response = owner.browser.get(f"{path}?columns=all&unpaid=1&{httpx.QueryParams(params)}")
    page = PageTables(response.text)
    has_rate = answer["cost_rate"] is not None
    columns = [column.figure for column in COLUMNS if has_rate or column.figure != "contribution"]
    table = page.tables.get("rows", [[], [], [], []])[1:]
    rows = [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]
    if not rows and not table[0]:
        if answer["totals"]["spend"]:
            yield "the page has nothing"
        return
    end = next(index for index, row in enumerate(table) if row[0].text == "Platforms with spend")
    listed_rows, (matched, *unmatched_rows, total_cells) = table[:end], table[end:]
    if len(listed_rows) != len(rows):
        yield f"the page has {len(listed_rows)} rows"
        return
    pairs = [*zip(listed_rows, rows, strict=True), (matched, answer["with_spend"])]
    pairs += [(total_cells, answer["totals"])]
    for cells, figures in pairs:
        yield from _compare_cells(cells, figures, columns)
    ledger_names = [name for name in columns if name in ("spend", "impressions", "clicks")]
    if not unmatched_rows and answer["unmatched"]["spend"]:
        yield "the page lacks the unmatched spend"
    for cells in unmatched_rows:
        yield from _compare_cells(cells, answer["unmatched"], ledger_names, columns)


def _compare_cells(
    cells: list[Cell], figures: dict[str, Any], names: list[str], columns: list[str] | None = None
) -> Iterator[str]:
    places = {name: index for index, name in enumerate(columns or names, 1)}
    for name in names:
        value, right = cells[places[name]].value or "", format_figure(figures[name])
        if value != right:
            yield f"the page has {name} {value} instead of {right}: {cells[0].text.strip()}"
