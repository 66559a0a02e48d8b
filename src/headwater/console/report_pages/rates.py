"""List exchange rates, and add for one or several days."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from starlette.responses import Response

from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm
from headwater.console.visits import PageVisit, Refusal, SentForm, SpacePages, list_form_errors
from headwater.http.errors import Errors, Invalid
from headwater.http.inputs.parameters import Query
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.audit.entries import AuditChange
from headwater.spend.rates.inputs import MAX_RATES, cursors, read_rates
from headwater.spend.rates.store import Rate, fetch_reference_day, list_rates, put_rates

ROUTES = SpacePages("/rates")
PER_PAGE = 50
FIELDS = ("base", "currency", "rate", "first_day", "last_day")
MOST_DAYS = 366
"""Maximum days per form, fewer than per API request."""
assert MOST_DAYS < MAX_RATES


@ROUTES.page()
async def show_rates(visit: PageVisit) -> Response:
    today = datetime.now(UTC).astimezone(visit.space.zone).date()
    usual_values = {"currency": visit.space.currency, "first_day": f"{today}"}
    parameters = visit.request.query_params
    return await _page(visit, {name: parameters.get(name, usual_values.get(name, "")) for name in FIELDS}, {})


async def _refuse(visit: PageVisit, refusal: Refusal) -> Response:
    return await _page(visit, visit.typed(*FIELDS), list_form_errors(refusal))


@ROUTES.action("/add", SentForm("rates", Permission.WRITE_DATA), _refuse)
async def post_rates(visit: PageVisit) -> FlashMessage:
    rates = read_rate_form(visit.form)
    await put_rates(visit.connection, visit.space.id, rates)
    visit.note(AuditChange("rates", after={"rows": len(rates)}))
    return FlashMessage.RATES_STORED


def read_rate_form(form: PostedForm) -> list[Rate]:
    """Return a rate for each day. Raise Invalid by form field."""
    first, errors = _read(form, "first_day")
    if not form.text("last_day").strip():
        if first is None:
            raise Invalid(errors)
        return [first]
    last, last_errors = _read(form, "last_day")
    errors = {**errors, **last_errors}
    if first is None or last is None:
        raise Invalid(errors)
    count = (last.date - first.date).days + 1
    if not 1 <= count <= MOST_DAYS:
        rule = f"must be from the first day to {MOST_DAYS - 1} days after it."
        raise Invalid({"last_day": [f"The last day {rule}"]})
    days = (first.date + timedelta(days=number) for number in range(count))
    return [msgspec.structs.replace(first, date=day) for day in days]


def _read(form: PostedForm, day: str) -> tuple[Rate | None, Errors]:
    values = {name: form.text(name).strip() for name in ("base", "currency")}
    rate = form.text("rate").strip().replace(",", ".")
    try:
        row = {**values, "rate": rate, "date": form.text(day).strip()}
        return read_rates({"rates": [row]})[0], {}
    except Invalid as error:
        return None, _move_to_fields(error.errors, day)


def _move_to_fields(errors: Errors, day: str) -> Errors:
    field_names: Mapping[str, tuple[str, str]] = {
        "rates.0.date": (day, "day"),
        "rates.0.base": ("base", "base currency"),
        "rates.0.currency": ("currency", "currency"),
        "rates.0.rate": ("rate", "rate"),
        "rates.0": ("currency", "rate"),
    }
    fields: Errors = {}
    for key, rules in errors.items():
        name, word = field_names[key]
        fields[name] = [rule.replace(f"The {key} ", f"The {word} ", 1) for rule in rules]
    return fields


async def _page(visit: PageVisit, typed: dict[str, str], errors: Errors) -> Response:
    connection, space_id, path = visit.connection, visit.space.id, visit.path("/rates")
    writer = cursors(visit.services.signing_key, space_id)
    query = visit.query if visit.request.method == "GET" else Query(b"")
    page = await list_rates(connection, space_id, PER_PAGE, writer.read_from(query))
    newer, older = (
        f"{path}?cursor={writer.write(position)}" if position else None
        for position in (page.previous, page.next)
    )
    values: dict[str, Any] = {
        "typed": typed,
        "errors": errors,
        "rates": [msgspec.json.decode(line, type=Rate) for line in page.lines],
        "here": path,
        "most": MOST_DAYS,
        "reference_day": await fetch_reference_day(connection),
        "newer": newer,
        "older": older,
    }
    return visit.render("rates.html", values, 422 if errors else 200)
