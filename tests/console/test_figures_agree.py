"""A report has one definition: a page shows the same figures as the API, its CSV, assistants and scheduled
mails, to the last digit; and every figure links to a list that adds up to it. The pages are random;
HEADWATER_PAGES makes the run longer.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx
import psycopg
import pytest

from headwater.alerts.notifications.models import Notice
from headwater.attribution.models import MODELS, WINDOWS
from headwater.attribution.paths.builder import build_next
from headwater.console.scheduled_reports.schedule import Schedule
from headwater.reports.questions.shared import format_figure
from tests.conftest import Running
from tests.console.conftest import Person
from tests.console.tables import Cell, PageTables
from tests.console.test_channels import NOON
from tests.mcp.assistants import Assistant, connect
from tests.support.campaigns import campaign_size
from tests.support.factories import Stage
from tests.support.sent_reports import DAILY, MONDAYS, MONTHLY, send
from tests.support.trained_models import plant_trained_model

PAGES = campaign_size("HEADWATER_PAGES", 10, 1000)
PART = 10
"""Pages that one test draws."""
SOURCES = ("google_ads", "facebook_ads", "ai_chat_gpt", "email", "direct", "google_organic")
CHANNELS = {"Paid ads": "paid", "AI answers": "ai", "E-mail": "email", "Direct": "direct",
            "Organic search and social": "organic"}  # fmt: skip


def fill(stage: Stage, draw: random.Random) -> None:
    """Store sixty people with visits, orders, refunds and sign-ups over three months."""
    company = stage.company(name="Acme")
    tags = [stage.tag_set(campaign_id=f"c{n}", campaign_name=f"Campaign {n}", ad_id=f"a{n}")
            for n in range(3)]  # fmt: skip
    for _ in range(60):
        works = {"company_id": company} if draw.random() < 0.3 else {}
        contact = stage.contact(**works)
        for _ in range(draw.randrange(5)):
            tag_columns = {"tag_set_id": draw.choice(tags)} if draw.random() < 0.7 else {}
            moment = NOON - timedelta(hours=draw.randrange(24 * 90))
            stage.touchpoint(contact, draw.choice(SOURCES), occurred_at=moment, **tag_columns, **works)
        for _ in range(draw.randrange(4)):
            name = draw.choice(["purchase", "purchase", "purchase", "upsell_purchase", "sign_up"])
            amount = Decimal(draw.randrange(-300, 99_999)) / draw.choice([1, 100, 10_000])
            stage.event(
                contact, event_name=name, amount=None if name == "sign_up" else amount,
                event_time=NOON - timedelta(hours=draw.randrange(24 * 90)), **works,
            )  # fmt: skip


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int, make_key: Any) -> Stage:
    stage = Stage(connection, space_id, make_key(space_id))
    fill(stage, random.Random("figures"))
    plant_trained_model(connection, space_id, proportions={"google_ads": 5, "email": 3, "direct": 1})
    while build_next(connection, space_id):
        pass
    return stage


@pytest.fixture
def assistant(server: Running, connection: psycopg.Connection, space_id: int) -> Iterator[Assistant]:
    with connect(server, connection, space_id) as assistant:
        yield assistant


def mailed_periods() -> dict[str, Schedule]:
    """Return the periods of scheduled reports, under their names on a page."""
    week = MONDAYS.period_words(datetime.now(UTC).date())
    return {"yesterday": DAILY, week: MONDAYS, "last month": MONTHLY}


def drawn_page(draw: random.Random) -> str:
    """Return a random query of a page."""
    choices = {
        "period": ["last 30 days", "last 90 days", "this year", "last 12 weeks", *mailed_periods()],
        "compare": ["previous_period", "previous_year", "none"],
        "conversion": ["sales", "sign_up", "any"],
        "attribution_model": list(MODELS),
        "attribution_window": list(map(str, WINDOWS)),
        "query_mode": ["profile", "company"],
        "date_basis": ["conversion", "conversion", "touch"],
        "only": ["", "", "channel:paid", "source:direct", "campaign:c1", "campaign:", "company:"],
    }
    pairs = {name: draw.choice(values) for name, values in choices.items()}
    pairs |= {"trained_model": "May"} if pairs["attribution_model"] == "markov" else {}
    return str(httpx.QueryParams({name: value for name, value in pairs.items() if value}))


def values(cells: list[Cell]) -> list[str]:
    return [cell.value or "" for cell in cells]


@pytest.mark.parametrize("part", range(-(-PAGES // PART)))
def test_page_csv_api_assistant_and_mail(
    owner: Person, stage: Stage, assistant: Assistant, server: Running, part: int, database_url: str
) -> None:
    draw, space_id = random.Random(f"agree {part}"), stage.space_id
    for _ in range(PART):
        query = drawn_page(draw)
        page = owner.browser.get(f"/console/spaces/{space_id}/channels?{query}")
        assert page.status_code == 200, (query, page.text)
        tables = PageTables(page.text)
        if "channels" not in tables.tables:
            assert "No data in this period" in page.text
            continue
        link = next(
            fragment.split('"')[0].replace("&amp;", "&")
            for fragment in page.text.split('href="')
            if "/report.csv?" in fragment
        )
        file = owner.browser.get(link)
        parameters = urlsplit(link).query
        answer = httpx.get(
            f"{server.base_url}/public-api/v1/reports?{parameters}",
            headers={"Authorization": f"Bearer {stage.key}"}, timeout=60,
        ).json()  # fmt: skip
        lists = {"event_names", "measures", "group_by", "only"}
        arguments: dict[str, Any] = {
            name: several if name in lists else several[0] for name, several in parse_qs(parameters).items()
        }
        arguments["attribution_window"] = int(arguments["attribution_window"])
        result = assistant.call("query_report", **arguments)
        assert {name: result[name] for name in ("columns", "rows", "totals")} == {
            name: answer[name] for name in ("columns", "rows", "totals")
        }, query
        cells_by_channel = {
            CHANNELS[row[0].text.strip()]: values(row[1:])
            for row in tables.tables["channels"]
            if row[0].text.strip() in CHANNELS
        }
        assert len(cells_by_channel) == len(answer["rows"]), query
        measures = parse_qs(parameters)["measures"]
        for row, line in zip(answer["rows"], csv.DictReader(file.text.splitlines()), strict=True):
            figures = dict(zip(answer["columns"], row, strict=True))
            for index, measure in enumerate(measures):
                digits = format_figure(figures[measure])
                assert cells_by_channel[row[0]][index] == digits == line[measure], (query, row[0], measure)
        schedule = mailed_periods().get(httpx.QueryParams(query)["period"])
        if schedule is not None:
            check_mail(send(database_url, space_id, "/channels", query, schedule), answer, measures)


def check_mail(notice: Notice, answer: dict[str, Any], measures: list[str]) -> None:
    """Check that the attached file has all digits, and that the table has the same figures rounded to the
    cent.
    """
    assert notice.file is not None
    assert notice.table is not None
    lines = list(csv.DictReader(notice.file.splitlines()))
    for row, line in zip(answer["rows"], lines, strict=True):
        figures = dict(zip(answer["columns"], row, strict=True))
        assert {name: line[name] for name in measures} == {
            name: format_figure(figures[name]) for name in measures
        }
    for row, (_, *cells) in zip(answer["rows"], notice.table.rows, strict=False):
        figures = dict(zip(answer["columns"], row, strict=True))
        for name, cell in zip(measures, cells, strict=True):
            if figures[name] is not None and name != "share":
                cell_amount, exact = Decimal(cell.replace(",", "")), Decimal(repr(figures[name]))
                assert abs(cell_amount - exact) <= Decimal("0.005"), (name, cell, exact)


@pytest.mark.usefixtures("stage")
@pytest.mark.parametrize("part", range(-(-PAGES // PART)))
def test_every_figure_leads_to_what_it_is_made_of(owner: Person, space_id: int, part: int) -> None:
    draw = random.Random(f"leads {part}")
    for _ in range(PART // 2):
        query = drawn_page(draw)
        page = owner.browser.get(f"/console/spaces/{space_id}/channels?{query}&open=paid")
        assert page.status_code == 200
        tables = PageTables(page.text)
        head = [cell.text for cell in tables.tables.get("channels", [[]])[0]]
        for row in tables.tables.get("channels", [])[1:]:
            for title, cell in zip(head[1:], row[1:], strict=True):
                if cell.link and cell.value is not None:
                    follow(owner, cell, title, (query, row[0].text))
        for title, cell in tables.headlines.items():
            if cell.link and cell.value is not None:
                follow(owner, cell, title, (query, "headline"))


def follow(owner: Person, cell: Cell, title: str, row_and_column: tuple[str, str]) -> None:
    """Open a figure's link, and compare the totals and the sum of the rows with the figure."""
    assert cell.link
    first = owner.browser.get(cell.link)
    assert first.status_code == 200, (row_and_column, cell.link, first.text)
    page, figure = PageTables(first.text), Decimal(cell.value or "0")
    events, amount = (
        Decimal(cell.value or "0") for cell in (page.event_count, page.headlines["Their amounts"])
    )
    credit = dict(parse_qsl(urlsplit(cell.link).query)).get("credit")
    credited_cell = page.headlines.get("Credited revenue")
    credited_amount = Decimal(credited_cell.value or "0") if credited_cell and credit == "credited" else None
    row_and_column = (*row_and_column, title, cell.link)
    if title == "Revenue":
        is_full_amount = row_and_column[1] == "headline" or credited_amount is None
        assert figure == (amount if is_full_amount else credited_amount), row_and_column
    elif title == "New customers" or (
        title in {"Orders", "Sign-ups", "Events"} and "headline" in row_and_column
    ):
        assert figure == events, row_and_column
    head, *rows = [row for row in page.tables.get("listed", [[]]) if row] or [[]]
    columns = [cell.text for cell in head]
    while older := next_page_url(page.html):
        page = PageTables(owner.browser.get(older).text)
        rows += [row for row in page.tables["listed"][1:] if row]
    assert len(rows) == events, row_and_column
    if not rows:
        return
    column = columns.index("Amount")
    assert sum(Decimal(row[column].value or "0") for row in rows) == amount, row_and_column
    if credited_amount is not None and all(row[column].value for row in rows):
        column = columns.index("Credited revenue")
        assert sum(Decimal(row[column].value or "0") for row in rows) == credited_amount, row_and_column


def next_page_url(html: str) -> str | None:
    """Return the address of a list's next page."""
    _, separator, tail = html.partition('rel="next" href="')
    return tail.split('"')[0].replace("&amp;", "&") if separator else None
