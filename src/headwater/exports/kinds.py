"""Kinds of export: bodies and lines. The body is parsed again when the job runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from psycopg import AsyncConnection, Connection

from headwater.attribution.trained_models.choice import TRAINED_MODEL
from headwater.database.json_lines import Lines
from headwater.events import parameters
from headwater.events.export_lines import compose_event_lines
from headwater.events.trained_selection import load_trained_model
from headwater.exports.formats import FileForm, Format, can_write_parquet
from headwater.exports.models import ExportRequest
from headwater.http.inputs.date_range import DAY, date_range
from headwater.http.inputs.fields import BOOLEAN, one_of, whole_number
from headwater.http.inputs.parameters import Input, JsonInput, ListParameter, Parameter
from headwater.http.inputs.timerange import EVER, NEVER, TimeRange, whole_days
from headwater.people.companies.export_lines import compose_company_lines
from headwater.people.contacts.export_lines import compose_contact_lines
from headwater.spaces.models import Space
from headwater.spaces.networks import fetch_sources, load_sources

DATE = Parameter(
    name="date",
    required=True,
    kind=DAY,
    description="The day, from midnight to midnight on the clock of the Space's time zone.",
)
CREATED = date_range(
    "First second of creation, by the Space's clock.", "Last second of creation, included.", required=True
)
EVENT_TIME = date_range(
    "In place of `date`: the first second, by the Space's clock.", "Last second, included.", required=True
)
WHOLE_RANGE = Parameter(
    name="whole_range",
    kind=BOOLEAN,
    default=False,
    description="In place of dates: everything from the first on, until now.",
)
FORMAT = Parameter(
    name="format",
    kind=one_of(tuple(map(str, Format))),
    default=str(Format.NDJSON),
    description="What files hold.",
)
COMPRESSION = Parameter(
    name="compression",
    kind=one_of(("gzip", "none")),
    description="Of NDJSON and CSV; `gzip` by default. Parquet is compressed inside.",
)
ROWS_PER_FILE = Parameter(
    name="rows_per_file",
    kind=whole_number(1_000, 100_000_000),
    description="Make several files, of this many rows each; without it, one.",
)
OF_FILES = (FORMAT, COMPRESSION, ROWS_PER_FILE)
TRK_TOKENS = Parameter(
    name="include_trk_tokens",
    kind=BOOLEAN,
    default=False,
    description="Whether lines have `trk_tokens`, the last five, most recent first.",
)


class ExportKind(Struct, frozen=True):
    own_parameters: tuple[Parameter[Any] | ListParameter[Any], ...]
    times: tuple[tuple[str, ...], ...]
    """The parameters of the time range, in groups; one of each group is required."""
    read_dates: Callable[[Input, Space], TimeRange]
    check: Callable[[Input, Space], object]
    """Reads the other parameters, to find errors in them."""
    lines: Callable[[Connection[Any], int, ExportRequest], Lines]

    @property
    def content(self) -> tuple[Parameter[Any] | ListParameter[Any], ...]:
        """Return the parameters besides the time."""
        times = {name for names in self.times for name in names}
        return tuple(parameter for parameter in self.own_parameters if parameter.name not in times)

    @property
    def parameters(self) -> tuple[Parameter[Any] | ListParameter[Any], ...]:
        return (*self.own_parameters, WHOLE_RANGE, *OF_FILES)

    def read(self, kind: str, body: dict[str, Any], space: Space) -> ExportRequest:
        """Raise Invalid with every broken rule."""
        names = {parameter.name for parameter in self.parameters}
        members = {name: value for name, value in body.items() if name in names}
        query = JsonInput(members)
        time = self._read_time(query, space)
        self.check(query, space)
        form = read_form(query)
        rows_per_file = ROWS_PER_FILE.read(query)
        query.finish()
        return ExportRequest(kind, members, time, form, rows_per_file)

    def _read_time(self, query: Input, space: Space) -> TimeRange:
        if not WHOLE_RANGE.read(query):
            return self.read_dates(query, space)
        for name in dict.fromkeys(name for names in self.times for name in names):
            if query.texts(name):
                query.refuse(name, f"cannot be given with {WHOLE_RANGE.name}.")
        return TimeRange(EVER.start, datetime.now(UTC))


async def name_trained_model(
    connection: AsyncConnection, space_id: int, request: ExportRequest
) -> ExportRequest:
    """Add the name of the model's current training run, if it needs one. Raises Invalid without one."""
    if request.kind != "events":
        return request
    sources = await fetch_sources(connection, space_id)
    selection = parameters.read_selection(JsonInput(request.body), request.time, sources)
    trained_model = await load_trained_model(connection, space_id, selection)
    return (
        request
        if trained_model is None
        else replace(request, body={**request.body, TRAINED_MODEL.name: trained_model.name})
    )


def read_form(query: Input) -> FileForm:
    """Record errors in the query."""
    file_format = Format(FORMAT.read(query) or Format.NDJSON)
    compression = COMPRESSION.read(query)
    if file_format is not Format.PARQUET:
        return FileForm(file_format, compression != "none")
    if compression == "gzip":
        query.refuse(COMPRESSION.name, "cannot be gzip with parquet, which is compressed inside.")
    if not can_write_parquet():
        query.refuse(FORMAT.name, "cannot be parquet: headwater[parquet] is not installed.")
    return FileForm(file_format, by_gzip=False)


def _event_time(query: Input, space: Space) -> TimeRange:
    if not query.texts(DATE.name) and not EVENT_TIME.is_absent(query):
        return EVENT_TIME.read_time(query, space.zone, NEVER)
    day = DATE.read(query)
    return NEVER if day is None else whole_days(day, day, space.zone)


def _created(query: Input, space: Space) -> TimeRange:
    return CREATED.read_time(query, space.zone, NEVER)


def _event_lines(connection: Connection[Any], space_id: int, request: ExportRequest) -> Lines:
    sources = load_sources(connection, space_id)
    selection = parameters.read_selection(JsonInput(request.body), request.time, sources)
    return compose_event_lines(connection, space_id, selection)


def _contact_lines(connection: Connection[Any], space_id: int, request: ExportRequest) -> Lines:
    trk_tokens = TRK_TOKENS.read(JsonInput(request.body)) or False
    return compose_contact_lines(connection, space_id, request.time, trk_tokens=trk_tokens)


def _company_lines(_: Connection[Any], space_id: int, request: ExportRequest) -> Lines:
    return compose_company_lines(space_id, request.time)


KINDS = {
    "events": ExportKind(
        (DATE, *EVENT_TIME.parameters, *parameters.SELECTION),
        ((DATE.name,), ("start_date", "end_date")),
        _event_time,
        lambda query, space: parameters.read_selection(query, NEVER, space.sources),
        _event_lines,
    ),
    "contacts": ExportKind(
        (*CREATED.parameters, TRK_TOKENS),
        (("start_date", "end_date"),),
        _created,
        lambda query, _: TRK_TOKENS.read(query),
        _contact_lines,
    ),
    "companies": ExportKind(
        CREATED.parameters,
        (("start_date", "end_date"),),
        _created,
        lambda _query, _space: None,
        _company_lines,
    ),
}
