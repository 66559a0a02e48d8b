"""Query parameters of imports over the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from headwater.events.accepted import EVENT_NAMES, EVENT_NAMES_IN_WORDS
from headwater.http.inputs.fields import FieldType, one_of, text_up_to
from headwater.http.inputs.parameters import Input, ListParameter, Parameter
from headwater.intake.imports.formats.amounts import DECIMALS
from headwater.intake.imports.formats.choices import FileChoices
from headwater.intake.imports.formats.dialects import SEPARATORS
from headwater.intake.imports.formats.encodings import CHOICES as ENCODINGS
from headwater.intake.imports.formats.times import DATES
from headwater.intake.imports.kinds import KINDS
from headwater.intake.imports.uploads import MOST_COLUMNS
from headwater.spend.inputs import FIELDS as SPEND_FIELDS
from headwater.spend.inputs import parse_zone

LONGEST_NAME = 200
LONGEST_COLUMN = 1000


def _read_column(text: str) -> tuple[str, str]:
    column, colon, name = map(str.strip, text.rpartition(":"))
    if not column or not colon:
        raise ValueError("must each be COLUMN:FIELD, such as Cost:amount.")
    return column, name


def _make_constant(name: str, description: str) -> Parameter[str]:
    field_kind = SPEND_FIELDS[name].kind
    kind: FieldType[str] = FieldType({"type": "string"}, lambda value: str(field_kind.read(value)))
    return Parameter(name=name, kind=kind, description=description)


def _make_notation(name: str, cells: str, examples: Mapping[str, str]) -> Parameter[str]:
    ways = ", ".join(f"`{way}` ({example})" for way, example in examples.items())
    return Parameter(
        name=name,
        kind=one_of([*examples]),
        description=f"How {cells} are written: {ways}. Detected unless ambiguous.",
    )


NAME = Parameter(
    name="name",
    kind=text_up_to(LONGEST_NAME, trim=True),
    description="The name of the file in the list of imports.",
)
COLUMNS = ListParameter(
    name="columns",
    kind=text_up_to(LONGEST_COLUMN).then(_read_column),
    max_values=MOST_COLUMNS,
    description="`COLUMN:FIELD`, for a column whose name is not recognized. Without a "
    "field after the last colon, the column is ignored.",
)
EVENT_NAME = Parameter(
    name="event_name",
    kind=one_of(EVENT_NAMES, EVENT_NAMES_IN_WORDS),
    description="The name of all events, for a file without such a column.",
)
PLATFORM = _make_constant("platform", "The ad platform, for a file that does not name it.")
CURRENCY = _make_constant("currency", "The currency of amounts, for a file that does not name it.")
TIMEZONE = Parameter(
    name="timezone",
    kind=text_up_to(100).then(parse_zone),
    description="The zone of times without an offset; by default the Space's. For spend, the zone "
    "of the ad account.",
)
DECIMALS_PARAMETER = _make_notation("decimals", "numbers", DECIMALS)
DATES_PARAMETER = _make_notation("dates", "days", DATES)
SEPARATOR = Parameter(
    name="separator", kind=one_of([*SEPARATORS]), description="The separator of cells. Detected by default."
)
ENCODING = Parameter(
    name="encoding",
    kind=one_of([*ENCODINGS]),
    description="The encoding of the file. Detected unless ambiguous.",
)


class ImportRequest(Struct, frozen=True):
    name: str
    choices: FileChoices
    constants: dict[str, str]


def list_parameters(kind: str) -> Sequence[Parameter[Any] | ListParameter[Any]]:
    import_kind = KINDS[kind]
    has_clock = import_kind.time is not None or kind == "spend"
    return (
        NAME,
        COLUMNS,
        *((EVENT_NAME,) if kind == "events" else ()),
        *((PLATFORM, CURRENCY) if kind == "spend" else ()),
        *((TIMEZONE,) if has_clock else ()),
        *((DECIMALS_PARAMETER,) if import_kind.numbers else ()),
        *((DATES_PARAMETER,) if import_kind.times else ()),
        SEPARATOR,
        ENCODING,
    )


def read_request(kind: str, query: Input) -> ImportRequest:
    """Raise Invalid for bad input."""
    values: dict[str, Any] = {parameter.name: parameter.read(query) for parameter in list_parameters(kind)}
    mapped_columns: tuple[tuple[str, str], ...] = values["columns"]
    columns = [column for column, _ in mapped_columns]
    if len(set(columns)) < len(columns):
        query.refuse("columns", "must not name a column twice.")
    query.finish()
    constant_values = {name: values.get(name) for name in ("event_name", "platform", "currency")}
    choices = FileChoices(
        mapped_columns,
        None,
        values.get("decimals"),
        values.get("dates"),
        ENCODINGS.get(values["encoding"] or ""),
        SEPARATORS.get(values["separator"] or ""),
        values.get("timezone"),
    )
    constants = {name: value for name, value in constant_values.items() if value}
    return ImportRequest(values["name"] or f"{kind}.csv", choices, constants)
