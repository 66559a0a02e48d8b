"""The three kinds of export: the body that requests each, and the lines it holds.

A kind's parameters are defined once. The definitions read and document the body, and read it
again when the job runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from psycopg import AsyncConnection, Connection

from headwater.companies.export_lines import company_lines
from headwater.contacts.export_lines import contact_lines
from headwater.database.json_lines import Lines
from headwater.events import parameters
from headwater.events.export_lines import event_lines
from headwater.events.fitted_selection import load_fit
from headwater.exports.models import ExportRequest
from headwater.fits.choice import FIT
from headwater.http.date_range import date_range
from headwater.http.fields import BOOLEAN, written
from headwater.http.parameters import Input, JsonInput, ListParameter, Parameter
from headwater.http.timerange import NEVER, TimeRange, parse_day, whole_days
from headwater.spaces.models import Space


def _parse_date(text: str) -> date:
    if not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise ValueError("must have the format YYYY-MM-DD.")
    return parse_day(text)


DATE = Parameter(
    name="date",
    required=True,
    kind=written({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}, _parse_date),
    description="The day, from midnight to midnight on the clock of the Space's time zone.",
)
CREATED = date_range(
    "First second of creation, by the Space's clock.",
    "Last second of creation, included.",
    required=True,
)
TRK_TOKENS = Parameter(
    name="include_trk_tokens",
    kind=BOOLEAN,
    default=False,
    description="Whether lines have `trk_tokens`, the last five, most recent first.",
)


@dataclass(frozen=True)
class ExportKind:
    """One kind of export."""

    parameters: tuple[Parameter[Any] | ListParameter[Any], ...]
    read_time: Callable[[Input, Space], TimeRange]
    check: Callable[[Input], object]
    """A function that reads the other parameters, to find errors in them."""
    lines: Callable[[Connection[Any], int, ExportRequest], Lines]

    def read(self, kind: str, body: dict[str, Any], space: Space) -> ExportRequest:
        """Read an export from a body. Raises Invalid with every rule it breaks."""
        names = {parameter.name for parameter in self.parameters}
        known = {name: value for name, value in body.items() if name in names}
        query = JsonInput(known)
        time = self.read_time(query, space)
        self.check(query)
        query.finish()
        return ExportRequest(kind, known, time)


async def name_fit(
    connection: AsyncConnection, space_id: int, request: ExportRequest
) -> ExportRequest:
    """The request with the name of the fit that its model goes by, if it needs one: the file is
    made later, when another may be current. Raises Invalid where there is none.
    """
    if request.kind != "events":
        return request
    selection = parameters.read_selection(JsonInput(request.body), request.time)
    fit = await load_fit(connection, space_id, selection)
    return request if fit is None else replace(request, body={**request.body, FIT.name: fit.name})


def _day(query: Input, space: Space) -> TimeRange:
    day = DATE.read(query)
    return NEVER if day is None else whole_days(day, day, space.zone)


def _created(query: Input, space: Space) -> TimeRange:
    return CREATED.read_time(query, space.zone, NEVER)


def _event_lines(connection: Connection[Any], space_id: int, request: ExportRequest) -> Lines:
    selection = parameters.read_selection(JsonInput(request.body), request.time)
    return event_lines(connection, space_id, selection)


def _contact_lines(connection: Connection[Any], space_id: int, request: ExportRequest) -> Lines:
    trk_tokens = TRK_TOKENS.read(JsonInput(request.body)) or False
    return contact_lines(connection, space_id, request.time, trk_tokens=trk_tokens)


def _company_lines(_: Connection[Any], space_id: int, request: ExportRequest) -> Lines:
    return company_lines(space_id, request.time)


KINDS = {
    "events": ExportKind(
        (DATE, *parameters.SELECTION),
        _day,
        lambda query: parameters.read_selection(query, NEVER),
        _event_lines,
    ),
    "contacts": ExportKind(
        (*CREATED.parameters, TRK_TOKENS), _created, TRK_TOKENS.read, _contact_lines
    ),
    "companies": ExportKind(CREATED.parameters, _created, lambda _: None, _company_lines),
}
