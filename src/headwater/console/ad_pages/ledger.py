"""Stored spend: rows, counted amounts and totals in each currency and the reports' currency. Rows of chosen
days can be deleted after typing their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.audited import note_change
from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm, read_form
from headwater.console.pages import redirect, render
from headwater.console.report_pages import figures
from headwater.console.report_pages.csv_file import csv_response
from headwater.console.visitor import HOME, SpaceVisitor, enter, require_visitor
from headwater.endpoints.services import services
from headwater.http.csv_table import CsvTable
from headwater.http.errors import Errors, Invalid
from headwater.http.inputs.pagination import Position
from headwater.http.inputs.parameters import Input, JsonInput, Query
from headwater.reports.engine.conversion import LeftOutSpend
from headwater.reports.engine.report_reader import CONNECTION_SECONDS
from headwater.reports.query import DateTimeSpan
from headwater.reports.questions.period_spend import MILLIONTHS, list_currency_days, load_exchange
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.audit.entries import AuditChange
from headwater.spend.answers import SpendDeletion
from headwater.spend.breakdown import LedgerRow, SpendPart
from headwater.spend.connections.connections import list_connections
from headwater.spend.ledger import count_spend, delete_spend, list_spend, read_parts, require_platform
from headwater.spend.models import LEVELS
from headwater.spend.parameters import CHOICE, SpendChoice, cursors, read_choice

FORM, CONFIRM = "spend deletion", "confirm"
PER_PAGE = 100
USUAL_DAYS = 30
MOST_SUMMED = 200_000
"""Maximum rows summed for a page; larger selections show only the list."""
MOST_IN_CSV = 50_000
_FIELDS = tuple(parameter.name for parameter in CHOICE)
_COLUMNS = (
    "date",
    "platform",
    *LEVELS,
    "country",
    "currency",
    "amount",
    "impressions",
    "clicks",
    "platform_conversions",
    "platform_revenue",
    "timezone",
    "as_of",
    "complete",
)


class StoredSpend(msgspec.Struct, frozen=True):
    date: date
    platform: str
    currency: str
    amount: Decimal
    account_id: str | None
    campaign_id: str | None
    adset_id: str | None
    ad_id: str | None
    country: str | None
    impressions: int | None
    clicks: int | None
    platform_conversions: Decimal | None
    platform_revenue: Decimal | None
    timezone: str | None
    as_of: str
    complete: bool

    @property
    def place(self) -> tuple[Any, ...]:
        """The key of its chunk."""
        ids = [getattr(self, level) or "" for level in LEVELS]
        while ids and not ids[-1]:
            ids.pop()
        return self.date, self.platform, self.currency, tuple(ids), self.country or ""


class LedgerSums(Struct, frozen=True):
    """Sums of rows, each part counted once."""

    pieces: Mapping[tuple[Any, ...], SpendPart]
    by_currency: Mapping[str, Decimal]
    total: Decimal
    left_out: tuple[LeftOutSpend, ...] = ()
    """Spend excluded from the total."""

    def counted(self, row: StoredSpend) -> Decimal:
        part_of_row = self.pieces.get(row.place)
        return _amount(part_of_row) if part_of_row is not None else Decimal(0)

    def is_left_over(self, row: StoredSpend) -> bool:
        """Return whether more detailed rows don't cover it."""
        part_of_row = self.pieces.get(row.place)
        return part_of_row is None or part_of_row.is_remainder


class LedgerPage(Struct, frozen=True):
    rows: Sequence[StoredSpend]
    chosen: SpendDeletion
    """Number and days of the selected rows."""
    sums: LedgerSums | None
    """None for too many rows."""
    newer: str | None
    older: str | None


def _amount(spend_part: SpendPart) -> Decimal:
    return Decimal(spend_part.row.figures[0]) / MILLIONTHS


async def read_ledger_choice(
    connection: AsyncConnection, query: Input, inside: SpaceVisitor, *, is_whole: bool = True
) -> SpendChoice:
    """Return the selected rows, by default of the last 30 days. Raise Invalid."""
    has_filter = any(query.single(name) for name in ("start_date", "end_date"))
    choice = read_choice(query, days_required=not is_whole)
    query.finish()
    await require_platform(connection, inside.space, choice)
    if has_filter or not is_whole:
        return choice
    today = datetime.now(UTC).astimezone(inside.space.zone).date()
    first = today - timedelta(days=USUAL_DAYS - 1)
    return SpendChoice(first, today, choice.platform, choice.account_id, choice.campaign_id, choice.currency)


def _texts(choice: SpendChoice) -> dict[str, str]:
    values = {
        "start_date": choice.first_day if choice.first_day > date.min else "",
        "end_date": choice.last_day if choice.last_day < date.max else "",
        "platform": choice.platform,
        "account_id": choice.account_id,
        "campaign_id": choice.campaign_id,
        "currency": choice.currency,
    }
    return {name: f"{value}" for name, value in values.items() if value}


async def show_ledger(
    request: Request, posted: PostedForm | None = None, errors: Errors | None = None
) -> Response:
    visitor = await require_visitor(request)
    database = services(request).database
    async with database.transaction(CONNECTION_SECONDS) as connection:
        inside = await enter(connection, request, visitor)
        query = _query(request, posted)
        typed = {name: f"{query.single(name) or ''}" for name in _FIELDS}
        page, field_errors = None, dict(errors or {})
        try:
            choice = await read_ledger_choice(connection, query, inside)
            page = await _load(connection, request, inside, choice)
            typed = {**typed, **_texts(choice)}
        except Invalid as error:
            field_errors = {**error.errors, **field_errors}
        link = f"{_path(inside)}.csv?{urlencode({n: t for n, t in typed.items() if t})}"
        return render(
            request,
            "ledger.html",
            status=422 if field_errors else 200,
            page=page,
            typed=typed,
            errors=field_errors,
            here=_path(inside),
            connections=await list_connections(connection, inside.space.id),
            figures=figures,
            csv=link,
            most_summed=MOST_SUMMED,
            most_in_csv=MOST_IN_CSV,
        )


def _query(request: Request, posted: PostedForm | None) -> Input:
    if posted is None:
        return Query(request.scope["query_string"])
    return JsonInput({name: posted.text(name).strip() for name in _FIELDS})


async def _load(
    connection: AsyncConnection, request: Request, inside: SpaceVisitor, choice: SpendChoice
) -> LedgerPage:
    texts = _texts(choice)
    address = Query(request.scope["query_string"] if request.method == "GET" else b"")
    writer = cursors(JsonInput(texts), services(request).signing_key, inside.space.id)
    spend = await list_spend(connection, inside.space.id, choice, PER_PAGE, writer.read_from(address))
    deletion = await count_spend(connection, inside.space.id, choice)
    has_few_rows = deletion.rows <= MOST_SUMMED
    sums = await _add_up(connection, inside, choice, deletion) if has_few_rows else None
    newer, older = (
        f"{_path(inside)}?{urlencode({**texts, 'cursor': writer.write(position)})}" if position else None
        for position in (spend.previous, spend.next)
    )
    return LedgerPage(_decoded(spend.lines), deletion, sums, newer, older)


async def _add_up(
    connection: AsyncConnection, inside: SpaceVisitor, choice: SpendChoice, deletion: SpendDeletion
) -> LedgerSums:
    """Sum the selected rows. All rows of a day determine the breakdown, even unselected ones."""
    if deletion.first_day is None or deletion.last_day is None:
        return LedgerSums({}, {}, Decimal(0))
    space = inside.space
    days = await read_parts(connection, space.id, deletion.first_day, deletion.last_day)
    pieces = [spend_part for spend_part in days if _is_chosen(spend_part.row, choice)]
    by_currency: dict[str, Decimal] = {}
    for spend_part in pieces:
        currency = spend_part.row.currency
        by_currency[currency] = by_currency.get(currency, Decimal(0)) + _amount(spend_part)
    exchange = await load_exchange(connection, space.id, space.currency, list_currency_days(pieces))
    total = sum((_amount(exchange.convert(spend_part)) for spend_part in pieces), Decimal(0))
    parts_by_key = {spend_part.row[:5]: spend_part for spend_part in pieces}
    return LedgerSums(parts_by_key, dict(sorted(by_currency.items())), total, exchange.left_out(pieces))


def _is_chosen(row: LedgerRow, choice: SpendChoice) -> bool:
    account, campaign = (*row.path[:2], "", "")[:2]
    return all(
        (
            choice.platform in (None, row.platform),
            choice.currency in (None, row.currency),
            choice.account_id in (None, account),
            choice.campaign_id in (None, campaign),
        )
    )


def _decoded(lines: Sequence[str]) -> list[StoredSpend]:
    return [msgspec.json.decode(line, type=StoredSpend) for line in lines]


async def send_csv(request: Request) -> Response:
    """Send the selected rows unchanged, latest days first."""
    visitor = await require_visitor(request)
    table = CsvTable(_COLUMNS)
    async with services(request).database.transaction(CONNECTION_SECONDS) as connection:
        inside = await enter(connection, request, visitor)
        query = Query(request.scope["query_string"])
        choice = await read_ledger_choice(connection, query, inside)
        position: Position | None = None
        for _ in range(MOST_IN_CSV // 1000):
            page = await list_spend(connection, inside.space.id, choice, 1000, position)
            for row in _decoded(page.lines):
                table.add([_cell(getattr(row, name)) for name in _COLUMNS])
            if (position := page.next) is None:
                break
    first, last = (datetime.combine(day, datetime.min.time()) for day in (choice.first_day, choice.last_day))
    return csv_response("spend-ledger", DateTimeSpan(first, last), table.content())


def _cell(value: object) -> str | None:
    if isinstance(value, Decimal):
        return f"{value:f}"
    return None if value is None else f"{value}"


async def post_delete(request: Request) -> Response:
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, FORM)
    try:
        async with services(request).database.transaction() as connection:
            inside = await enter(connection, request, visitor, Permission.WRITE_DATA)
            query = _query(request, form)
            choice = await read_ledger_choice(connection, query, inside, is_whole=False)
            count = (await count_spend(connection, inside.space.id, choice)).rows
            typed = form.text(CONFIRM).strip().replace(",", "")
            if typed == f"{count}" and count:
                await delete_spend(connection, inside.space.id, choice)
                change = AuditChange("spend", after={"rows": -count})
                await note_change(connection, request, inside, change)
                return redirect(request, _path(inside), FlashMessage.SPEND_DELETED)
            rule = f"must be {count:,}, the number of rows to delete."
            raise Invalid.of(CONFIRM, rule)
    except Invalid as error:
        return await show_ledger(request, form, error.errors)


def _path(inside: SpaceVisitor) -> str:
    return f"{HOME}/spaces/{inside.space.id}/spend"


_PATH = f"{HOME}/spaces/{{space_id}}/spend"
ROUTES = [
    Route(_PATH, show_ledger, methods=["GET"]),
    Route(f"{_PATH}.csv", send_csv, methods=["GET"]),
    Route(f"{_PATH}/delete", post_delete, methods=["POST"]),
]
