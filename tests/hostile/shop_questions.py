"""Queries to a Space after hostile events, and the figures it must return."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from random import Random
from typing import Any

from headwater.reports.query import OF_VISITS, STEPS, VISIT_GROUPS, Group, Measure
from tests.hostile.shop import HONEST, Shop
from tests.hostile.single_events import KNOWN
from tests.support.report_model import loading
from tests.support.report_model.question import read_question
from tests.support.report_model.report import Row, make_report
from tests.support.report_model.spend import Money, Spending, in_one_currency, left_out_money

EVER = {"start_date": "2000-01-01 00:00:00", "end_date": "2030-01-01 00:00:00"}
GROUPS = [str(group) for group in Group if group not in STEPS]
MEASURES = [str(measure) for measure in Measure if measure is not Measure.SHARE]
WITHOUT_VISITS = [measure for measure in MEASURES if measure not in OF_VISITS]
MODELS = (
    "first_touch", "last_touch", "linear", "u_shaped", "time_decay", "last_non_direct_touch",
    "shapley_distinct", "linear_paid",
)  # fmt: skip
SUMS = (
    "events", "orders", "refund_count", "revenue", "gross_revenue", "refunds",
    "average_order_value", "contacts", "new_customers", "credited_revenue", "touched_revenue",
)  # fmt: skip
PAGES = (
    "", "/campaigns", "/campaigns.csv", "/paths", "/cohorts", "/cohorts.csv",
    "/models", "/events", "/events.csv", "/report.csv", "/completeness", "/alerts",
    "/alerts/rules", "/alerts/reports",
    "/self-reported", "/data-quality", "/live", "/people", "/people?q=hostile", "/orders", "/setup",
    "/spend", "/rates", "/sources", "/links", "/notes", "/trained-models", "/settings",
)  # fmt: skip
PERIODS = ("start_date=2000-01-01&end_date=2029-12-31", "period=last+30+days", "period=today")
ABOUT_TIME = ("", "/campaigns", "/campaigns.csv", "/paths", "/models", "/events",
              "/events.csv", "/self-reported", "/data-quality")  # fmt: skip
ASKED, SHOWN = 14, 7
"""The numbers of API queries and pages per group. All groups together cover everything."""
TOOLS = ("query_report", "query_spend", "query_paths", "list_events", "list_contacts",
         "list_companies", "list_rejected_events", "list_deliveries", "get_space")  # fmt: skip


def honest_questions(dice: Random) -> list[tuple[str, dict[str, Any]]]:
    """Return queries about honest events only."""
    honest_filter = {"event_names": HONEST, **EVER}
    year = _months(12)
    questions: list[tuple[str, dict[str, Any]]] = [
        ("/reports/paths", honest_filter), ("/reports/credits", honest_filter),
        ("/reports/cohorts", {"event_names": HONEST, **year}),
        ("/reports/spend", {**honest_filter, "group_by": dice.choice(("source", "campaign", "none"))}),
    ]  # fmt: skip
    for _ in range(2):
        arguments = {
            "measures": dice.sample(WITHOUT_VISITS, 4), "group_by": dice.choice(GROUPS),
            "attribution_model": dice.choice(MODELS), "limit": 200,
            "attribution_window": dice.choice((0, 7, 30)),
            "date_basis": dice.choice(("conversion", "conversion", "touch")),
        }  # fmt: skip
        questions.append(("/reports", {**honest_filter, **arguments}))
    return questions


def _months(count: int) -> dict[str, str]:
    today = datetime.now(UTC).date()
    first = (today - timedelta(days=30 * count)).replace(day=1)
    return {"start_date": f"{first} 00:00:00", "end_date": f"{today} 23:59:59"}


def honest_figures(shop: Shop, seed: int) -> list[Any]:
    """Return the Space's answers about honest events: figures, rows and left-out money."""
    answers: list[Any] = []
    for path, arguments in honest_questions(Random(seed)):
        answer = shop.api.get(path, params=arguments)
        assert answer.status_code in (200, 422), answer.text
        report = answer.json()
        names = ("rows", "totals", "unattributed", "overall", "left_out_money", "cohorts", "groups",
                 "touches", "data", "errors", "unmatched")  # fmt: skip
        answers.append((path, arguments, {name: report.get(name) for name in names}))
    return answers


def find_faults(shop: Shop, dice: Random) -> Iterator[str]:
    """Yield every answer with an error: of reports, lists, pages and tools."""
    for path, arguments in dice.sample(list(_api_questions(shop, dice)), ASKED):
        accept = "text/csv" if path.startswith("/reports") and dice.random() < 0.3 else "*/*"
        answer = shop.api.get(path, params=arguments, headers={"Accept": accept})
        if answer.status_code >= 400:
            yield f"GET {path} {arguments}: {answer.status_code} {answer.text[:400]}"
    for end in dice.sample(PAGES, SHOWN):
        period = f"{'&' if '?' in end else '?'}{dice.choice(PERIODS)}" if end in ABOUT_TIME else ""
        answer = shop.browser.get(f"/console/spaces/{shop.space_id}{end}{period}")
        if answer.status_code >= 400:
            yield f"page {end}{period}: {answer.status_code} {answer.text[:400]}"
    yield from _tool_faults(shop, dice)
    answer = shop.assistant.client.get(f"{shop.house.server.base_url}/healthz")
    if answer.status_code >= 400:
        yield f"health: {answer.status_code}"


def _api_questions(shop: Shop, dice: Random) -> Iterator[tuple[str, dict[str, Any]]]:
    for _ in range(10):
        group = dice.choice(GROUPS)
        yield "/reports", {
            **EVER, "group_by": group,
            "measures": dice.sample(MEASURES if group in VISIT_GROUPS else WITHOUT_VISITS, 5),
            "attribution_model": dice.choice(MODELS), "attribution_window": dice.choice((0, 1, 90)),
            "date_basis": dice.choice(("conversion", "touch")),
            "query_mode": dice.choice(("profile", "company")),
            "currency": dice.choice(("EUR", "USD", "KWD", "XAF", "IDR")),
            "compare": dice.choice(("none", "previous_period", "previous_year")),
        }  # fmt: skip
    for group in ("day", "week", "month"):
        yield "/reports", {"measures": ["revenue", "events"], "group_by": group, **_months(10)}
    yield "/reports", {"measures": "revenue", "completeness": "1", **_months(1)}
    for group in ("source", "campaign", "month", "none"):
        yield "/reports/spend", {**_months(11), "group_by": group, "compare": "previous_period"}
    yield "/reports/cohorts", {**_months(11), "group_by": dice.choice(("source", "campaign"))}
    yield "/reports/paths", {**EVER, "group_by": dice.choice(("source", "channel"))}
    for credit in ("all", "touched", "credited", "unattributed"):
        yield "/reports/credits", {**EVER, "credit": credit}
    yesterday = f"{datetime.now(UTC) - timedelta(minutes=1):%Y-%m-%d %H:%M:%S}"
    for path in ("/reports/changes", "/reports/spend/changes"):
        yield (
            path,
            {**_months(11), "since": yesterday}
            | ({"measures": "revenue"} if path == "/reports/changes" else {}),
        )
    yield "/events", {**EVER, "per_page": 100}
    yield "/events", {**EVER, "sources": ["google_ads", "referral", "direct"],
                      "attribution_model": "linear", "attribution_window": 30}  # fmt: skip
    for path in ("/contacts", "/companies", "/rates", "/spend"):
        yield path, EVER if path in ("/spend", "/contacts") else {}
    events = shop.house.connection.execute(
        "SELECT id, contact_id FROM events WHERE space_id = %s ORDER BY random() LIMIT 4", (shop.space_id,)
    ).fetchall()
    for event_id, contact_id in events:
        yield f"/events/{event_id}", {}
        yield f"/events/{event_id}/attribution", {}
        yield f"/contacts/{contact_id}", {}
        yield f"/contacts/{contact_id}/journey", {}


def _tool_faults(shop: Shop, dice: Random) -> Iterator[str]:
    """Yield tools' errors. For an inconsistent query, a tool words its own refusal."""
    arguments: dict[str, dict[str, Any]] = {
        "query_report": {**EVER, "measures": ["revenue", "orders"], "group_by": ["source"]},
        "query_spend": {**EVER}, "query_paths": {**EVER}, "list_events": {**EVER},
    }  # fmt: skip
    for name in dice.sample(TOOLS, 2):
        result = shop.assistant.result(name, arguments.get(name, {}))
        if result.get("isError"):
            yield f"tool {name}: {result['content']}"


def wrong_figures(shop: Shop) -> Iterator[str]:
    """Yield the differences between a report of all events and the plain model."""
    report = shop.api.get("/reports", params={
        **EVER, "measures": SUMS, "group_by": "source", "attribution_model": "linear",
        "limit": 200,
    }).json()  # fmt: skip
    spending = _spending(shop)
    question = read_question({
        **EVER, "measures": SUMS, "group_by": ["source"], "attribution_models": ["linear"],
        "limit": 200,
    })  # fmt: skip
    facts = in_one_currency(spending, (date(1999, 12, 1), date(2030, 2, 1)))
    right = make_report(facts, question)
    if report["totals"] != _json_figures(right.total):
        yield f"totals: {report['totals']} is not {_json_figures(right.total)}"
    rows = {row[0]: dict(zip(SUMS, row[1:], strict=True)) for row in report["rows"]}
    expected = {row.keys[0]: _json_figures(row) for row in right.rows}
    if rows != expected:
        yield f"rows: {rows} is not {expected}"
    left_out = left_out_money(spending, facts, question)
    if report["left_out_money"] != left_out:
        yield f"left_out_money: {report['left_out_money']} is not {left_out}"


def _json_figures(row: Row) -> dict[str, float | None]:
    return {name: None if figure is None else round(float(figure), 4) for name, figure in row.figures.items()}


def _spending(shop: Shop) -> Spending:
    connection = shop.house.connection
    facts = loading.load(connection, shop.space_id)
    currencies = dict(connection.execute(
        "SELECT id, currency FROM events WHERE space_id = %s", (shop.space_id,)
    ).fetchall())  # fmt: skip
    rows = connection.execute(
        "SELECT date, base, currency, rate FROM rates WHERE space_id = %s", (shop.space_id,)
    ).fetchall()
    rates = {(day, base, currency): Fraction(rate) for day, base, currency, rate in rows}
    assert len(KNOWN) == len({currency for _, _, currency in rates})
    return Spending(facts, currencies, [], Money("EUR", "EUR", rates))
