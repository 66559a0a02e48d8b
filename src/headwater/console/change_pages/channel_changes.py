"""The change from the previous period by channel, split into conversions and their average value."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from functools import partial

from msgspec import Struct
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.report_pages import figures
from headwater.console.report_pages.bar import read_bar
from headwater.console.report_pages.basis import conversions_title
from headwater.console.report_pages.breakdown import title
from headwater.console.report_pages.report_page import ReportPage, open_page
from headwater.console.report_pages.view import ReportView
from headwater.console.visitor import HOME
from headwater.reports.engine.measures import rounded
from headwater.reports.engine.report import GroupKey, ReportResult, query_reports
from headwater.reports.query import Comparison, Group, Measure
from headwater.reports.questions.channel_changes import (
    MEASURES,
    ChannelChanges,
    SalesChange,
    channel_queries,
    find_channel_changes,
)

UNATTRIBUTED = "Unattributed"


def list_tabs(page: ReportPage) -> list[tuple[str, str, bool]]:
    """Return each tab's title, link, and whether it is open."""
    tabs = (
        ("Compared with the previous period", f"{page.base}/changes"),
        ("Since a date", f"{page.base}/changes/since"),
    )
    return [(name, page.view.link(path), path == page.path) for name, path in tabs]


class ChangeRow(Struct, frozen=True):
    title: str
    change: SalesChange
    view: ReportView | None
    """The view with only this channel's credit; None for a channel without credit."""


class ChangesContent(Struct, frozen=True):
    current: ReportResult
    previous: ReportResult
    changes: ChannelChanges
    rows: tuple[ChangeRow, ...]
    """With `UNATTRIBUTED` last."""


async def load_channel_changes(connection: AsyncConnection, page: ReportPage) -> ChangesContent:
    """Load both periods in one snapshot. Raise Invalid and ReportRefused."""
    view = page.view
    compare = view.compare if view.compare != Comparison.NONE else Comparison.PREVIOUS_PERIOD
    query = view.report(page.space, datetime.now(UTC), MEASURES, (Group.CHANNEL,), compare=compare)
    current, previous = await query_reports(connection, page.space.id, channel_queries(query))
    changes = find_channel_changes(current, previous)
    rows = [
        ChangeRow(
            title(Group.CHANNEL, GroupKey(key, key)), change, view.narrow(f"{Group.CHANNEL}:{key or ''}")
        )
        for key, change in changes.channels
    ]
    if changes.unattributed is not None:
        rows.append(ChangeRow(UNATTRIBUTED, changes.unattributed, None))
    return ChangesContent(current, previous, changes, tuple(rows))


def describe_changes(content: ChangesContent, conversions: str, *, has_money: bool) -> list[str]:
    """Return a sentence per changed channel, the largest difference first:
    `E-mail -783.00 EUR: 15 orders instead of 18`. `conversions` is their plural label.
    """
    currency, label = content.current.currency, conversions.lower()
    if has_money:
        changed_rows = [row for row in content.rows if row.change.revenue]
        changed_rows.sort(key=lambda row: -abs(row.change.revenue))
        return [
            f"{row.title} {sign(Measure.REVENUE, row.change.revenue, currency)} {currency}: "
            f"{_give_reason(row.change, label, currency)}"
            for row in changed_rows
        ]
    changed_rows = [row for row in content.rows if row.change.conversions]
    changed_rows.sort(key=lambda row: -abs(row.change.conversions))
    return [
        f"{row.title} {sign(Measure.CREDITED_CONVERSIONS, row.change.conversions, currency)}: "
        f"{_compare_counts(row.change, label, currency)}"
        for row in changed_rows
    ]


def _give_reason(change: SalesChange, label: str, currency: str) -> str:
    """Name the larger part of a difference."""
    if not change.previous.conversions and not change.current.conversions:
        return "refunds and upsells"
    if abs(change.by_conversions) >= abs(change.by_value) and change.conversions:
        return _compare_counts(change, label, currency)
    current, previous = (
        figures.written(
            Measure.AVERAGE_ORDER_VALUE, rounded(Fraction(sales.revenue) / sales.conversions), currency
        )
        if sales.conversions
        else figures.NO_FIGURE
        for sales in (change.current, change.previous)
    )
    return f"{current} {currency} per {_make_singular(label)} instead of {previous}"


def _compare_counts(change: SalesChange, label: str, currency: str) -> str:
    current, previous = (
        figures.written(Measure.CREDITED_CONVERSIONS, sales.conversions, currency)
        for sales in (change.current, change.previous)
    )
    is_one = change.current.conversions == 1
    return f"{current} {_make_singular(label) if is_one else label} instead of {previous}"


def _make_singular(label: str) -> str:
    """Return `order` for `orders`, and `enquiry` for `enquiries`."""
    return f"{label[:-3]}y" if label.endswith("ies") else label.removesuffix("s")


def sign(measure: Measure, value: Fraction | Decimal, currency: str) -> str:
    """Format a difference with its sign."""
    text = figures.written(measure, value, currency)
    return f"+{text}" if value > 0 else text


async def show_channel_changes(request: Request) -> Response:
    page = await open_page(request)
    view = page.view
    content, problem = await page.try_load(partial(load_channel_changes, page=page))
    conversions = conversions_title(page.space, view.conversion)
    sentences = describe_changes(content, conversions, has_money=view.is_monetary) if content else []
    return page.render(
        "changes.html",
        read_bar(page.space, view, page.path),
        problem,
        page=content,
        tabs=list_tabs(page),
        conversions=conversions,
        sentences=sentences,
    )


ROUTES = [Route(f"{HOME}/spaces/{{space_id}}/changes", show_channel_changes, methods=["GET"])]
