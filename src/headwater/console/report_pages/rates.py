"""The Space's own exchange rates: listed, and added for a day or for several."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import msgspec
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm, read_form
from headwater.console.pages import redirect, render
from headwater.console.visitor import HOME, SpaceVisitor, enter, require_visitor
from headwater.endpoints.services import services
from headwater.http.errors import Errors, Invalid
from headwater.http.inputs.pagination import Page
from headwater.http.inputs.parameters import Query
from headwater.spaces.accounts.roles import Permission
from headwater.spend.rates.inputs import MOST_RATES, cursors, read_rates
from headwater.spend.rates.store import Rate, fetch_reference_day, list_rates, put_rates

FORM = "rates"
PER_PAGE = 50
FIELDS = ("base", "currency", "rate", "first_day", "last_day")
MOST_DAYS = 366
"""The days that one form may set, which are fewer than a request may."""
assert MOST_DAYS < MOST_RATES


async def show_rates(request: Request) -> Response:
    """Show a page of the rates, and the form for others, filled in as the address says."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        today = datetime.now(UTC).astimezone(inside.space.zone).date()
        usual = {"currency": inside.space.currency, "first_day": f"{today}"}
        typed = {name: request.query_params.get(name, usual.get(name, "")) for name in FIELDS}
        return await _page(request, connection, inside, typed)


async def post_rates(request: Request) -> Response:
    """Store one rate for each of some days."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, FORM)
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.WRITE_DATA)
        try:
            rates = read_rate_form(form)
        except Invalid as error:
            typed = {name: form.text(name) for name in FIELDS}
            return await _page(request, connection, inside, typed, error.errors)
        await put_rates(connection, inside.space.id, rates)
    return redirect(request, _path(inside), FlashMessage.RATES_STORED)


def read_rate_form(form: PostedForm) -> list[Rate]:
    """Return a rate for each day of the form. Raises Invalid by the form's fields."""
    first, errors = _read(form, "first_day")
    if not form.text("last_day").strip():
        if first is None:
            raise Invalid(errors)
        return [first]
    last, more = _read(form, "last_day")
    errors = {**errors, **more}
    if first is None or last is None:
        raise Invalid(errors)
    count = (last.date - first.date).days + 1
    if not 1 <= count <= MOST_DAYS:
        rule = f"must be from the first day to {MOST_DAYS - 1} days after it."
        raise Invalid({"last_day": [f"The last day {rule}"]})
    days = (first.date + timedelta(days=number) for number in range(count))
    return [msgspec.structs.replace(first, date=day) for day in days]


def _read(form: PostedForm, day: str) -> tuple[Rate | None, Errors]:
    """Return the rate of a day by the API's own rules; None with those that it breaks."""
    values = {name: form.text(name).strip() for name in ("base", "currency")}
    rate = form.text("rate").strip().replace(",", ".")
    try:
        row = {**values, "rate": rate, "date": form.text(day).strip()}
        return read_rates({"rates": [row]})[0], {}
    except Invalid as error:
        return None, _of_fields(error.errors, day)


def _of_fields(errors: Errors, day: str) -> Errors:
    """Return rules about a row of a request as the form's fields have them."""
    named: Mapping[str, tuple[str, str]] = {
        "rates.0.date": (day, "day"),
        "rates.0.base": ("base", "currency"),
        "rates.0.currency": ("currency", "currency"),
        "rates.0.rate": ("rate", "rate"),
        "rates.0": ("currency", "rate"),
    }
    fields: Errors = {}
    for key, rules in errors.items():
        name, word = named[key]
        fields[name] = [rule.replace(f"The {key} ", f"The {word} ", 1) for rule in rules]
    return fields


async def _page(
    request: Request,
    connection: AsyncConnection,
    inside: SpaceVisitor,
    typed: dict[str, str],
    errors: Errors | None = None,
) -> Response:
    space_id = inside.space.id
    writer = cursors(services(request).signing_key, space_id)
    query = Query(request.scope["query_string"] if request.method == "GET" else b"")
    page = await list_rates(connection, space_id, PER_PAGE, writer.read_from(query))
    newer, older = (
        f"{_path(inside)}?cursor={writer.write(at)}" if at else None for at in (page.previous, page.next)
    )
    return render(
        request,
        "rates.html",
        status=422 if errors else 200,
        typed=typed,
        errors=errors or {},
        rates=_decoded(page),
        here=_path(inside),
        most=MOST_DAYS,
        reference_day=await fetch_reference_day(connection),
        newer=newer,
        older=older,
    )


def _decoded(page: Page) -> list[Rate]:
    return [msgspec.json.decode(line, type=Rate) for line in page.lines]


def _path(inside: SpaceVisitor) -> str:
    return f"{HOME}/spaces/{inside.space.id}/rates"


_PATH = f"{HOME}/spaces/{{space_id}}/rates"
ROUTES = [Route(_PATH, show_rates, methods=["GET"]), Route(f"{_PATH}/add", post_rates, methods=["POST"])]
