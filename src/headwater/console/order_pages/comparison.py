"""Compare another tool's list of orders with ours. The uploaded file is read once and not stored."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from datetime import date
from typing import IO, Any, cast

from starlette.requests import Request
from starlette.responses import Response

from headwater.console.forms import PostedForm, check_once, once_token
from headwater.console.multipart import MultipartForm
from headwater.console.order_pages.upload import list_upload_errors
from headwater.console.pages import hidden_token, render
from headwater.console.report_pages import figures
from headwater.console.report_pages.charts.waterfall import WaterfallRow, WaterfallSteps
from headwater.console.visitor import HOME, SpaceVisitor
from headwater.console.visits import EMPTY, PageVisit, SpacePages, enter_space
from headwater.endpoints.services import services
from headwater.http.bodies import MEGABYTE, FileTooLarge
from headwater.http.errors import Invalid
from headwater.intake.imports.formats.choices import NO_CHOICES
from headwater.intake.imports.formats.dialects import UnreadableError
from headwater.intake.imports.formats.files import GZIP, RowSource
from headwater.intake.imports.order_lists import OrderList, read_order_list
from headwater.reports.engine.report_reader import CONNECTION_SECONDS
from headwater.reports.questions.order_comparison import OrderComparison, OrderStep, compare_orders
from headwater.reports.questions.platform_comparison import Count
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.models import Space

ROUTES = SpacePages("/order-comparison")
FORM = "order comparison"
MOST_MEGABYTES = 20
MOST_SHOWN = 200
"""Orders that differ, shown on the page."""
_IN_MEMORY = MEGABYTE
_TITLES = {
    OrderStep.REPEATED: "Listed more than once",
    OrderStep.NOT_HERE: "Not in Headwater",
    OrderStep.OTHER_DAYS: "In Headwater on other days",
    OrderStep.AMOUNTS: "Same order, other amount",
    OrderStep.NOT_LISTED: "Only in Headwater",
    OrderStep.WITHOUT_ID: "In Headwater without an order id",
    OrderStep.UPSELLS: "Upsells",
    OrderStep.REFUNDS: "Refunds",
}


@ROUTES.page()
async def show_form(visit: PageVisit) -> Response:
    return _page(visit.request, visit.inside)


async def post_list(request: Request) -> Response:
    """Compare an uploaded list; no transaction is open while it arrives."""
    inside = await enter_space(request, Permission.READ)
    multipart = MultipartForm(request, MOST_MEGABYTES * MEGABYTE)
    form, name = await multipart.fields()
    check_once(form, inside.visitor.form_key, FORM)
    try:
        order_list = await _receive_list(multipart.pieces(), name, inside.space)
        days = _read_days(form, order_list)
        async with services(request).database.transaction(CONNECTION_SECONDS) as connection:
            result = await compare_orders(connection, inside.space, order_list.orders, days)
    except (UnreadableError, FileTooLarge, Invalid) as error:
        return _page(request, inside, status=422, form=form, errors=list_upload_errors(error))
    return _page(request, inside, form=form, name=name, listed=order_list, result=result, rows=_draw(result))


ROUTES.add("", post_list, "POST")


async def _receive_list(pieces: AsyncIterator[bytes], name: str, space: Space) -> OrderList:
    if not name:
        raise Invalid({"file": ["Choose the list to compare."]})
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as file:
        async for chunk in pieces:
            await asyncio.to_thread(file.write, chunk)
        return await asyncio.to_thread(_read_list, cast("IO[bytes]", file), space)


def _read_list(file: IO[bytes], space: Space) -> OrderList:
    """Read an uploaded list. Unpacked, a small file may be endless."""
    file.seek(0)
    if file.read(len(GZIP)) == GZIP:
        raise UnreadableError("The file is compressed. Upload it unpacked.")
    file.seek(0, os.SEEK_END)
    source = RowSource(cast("Any", file), "csv", file.tell(), b"")
    return read_order_list(source.judged(None, None), space, NO_CHOICES)


def _read_days(form: PostedForm, order_list: OrderList) -> tuple[date, date]:
    """Return the chosen days, by default the list's. Raise Invalid."""
    first, last = (_read_day(form, name) for name in ("first", "last"))
    if order_list.days is not None:
        first, last = first or order_list.days[0], last or order_list.days[1]
    if first is None or last is None:
        rule = "Choose the first and the last day: the file has orders without a day."
        raise Invalid({"first" if first is None else "last": [rule]})
    if last < first:
        raise Invalid({"last": ["The last day must not be before the first day."]})
    return first, last


def _read_day(form: PostedForm, name: str) -> date | None:
    text = form.text(name).strip()
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise Invalid({name: ["Write the day as 2026-12-31."]}) from None


def _draw(result: OrderComparison) -> tuple[WaterfallRow, ...]:
    """Leave out steps without a change."""
    steps = WaterfallSteps()
    steps.add_total("The list", result.listed)
    for step, change in result.steps:
        if change != Count():
            steps.add_change(_TITLES[step], change)
    steps.add_total("Headwater", result.ours)
    return steps.draw("revenue")


def _page(
    request: Request,
    inside: SpaceVisitor,
    *,
    form: PostedForm = EMPTY,
    status: int = 200,
    result: OrderComparison | None = None,
    **values: Any,
) -> Response:
    return render(
        request,
        "order_comparison.html",
        status=status,
        once=hidden_token(once_token(inside.visitor.form_key, FORM)),
        here=f"{HOME}/spaces/{inside.space.id}/order-comparison",
        most=MOST_MEGABYTES,
        shown=MOST_SHOWN,
        titles=_TITLES,
        figures=figures,
        first=form.text("first"),
        last=form.text("last"),
        result=result,
        **values,
    )
