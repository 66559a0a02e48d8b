"""Request bodies of scheduled exports."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any, get_args

from headwater.exports.kinds import KINDS, OF_FILES, ROWS_PER_FILE, read_form
from headwater.exports.schedule_days import Cadence
from headwater.exports.schedules import NewSchedule
from headwater.exports.schemas import describe_properties
from headwater.http.inputs.date_range import end_day, start_day
from headwater.http.inputs.fields import one_of, text_up_to, whole_number
from headwater.http.inputs.parameters import JsonInput, Parameter
from headwater.http.openapi import body
from headwater.spaces.models import Space

LONGEST_PAST = timedelta(days=3660)
_NAME_SCHEMA = {"type": "string", "pattern": "^$|^[a-z0-9][a-z0-9_-]{0,39}$"}


def _parse_name(text: str) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    if not 1 <= len(text) <= 40 or text[0] not in letters or set(text) - set(letters + "_-"):
        raise ValueError("must have up to 40 of a to z, 0 to 9, _ and -, and begin with none of -_.")
    return text


TABLE = Parameter(name="table", required=True, kind=one_of(tuple(KINDS)), description="What is exported.")
NAME = Parameter(
    name="name",
    kind=text_up_to(40).then(_parse_name).documented(**_NAME_SCHEMA),
    description="A part of the folder's name; the table's name by default.",
)
CADENCE = Parameter(
    name="cadence",
    kind=one_of(get_args(Cadence)),
    default="daily",
    description="How often files are written: after each hour, or after each day.",
)
FIRST_DAY = start_day("The first day of events, by the Space's clock; the present day by default.")
REWRITTEN_DAYS = Parameter(
    name="rewritten_days",
    kind=whole_number(0, 31),
    default=2,
    description="Days before that every run writes again, for what came late or changed.",
)
ROWS = 1_000_000
FROM_DAY = start_day("The first day to write again, by the Space's clock.", required=True)
UNTIL_DAY = end_day("The last one, included.", required=True)
_OWN_FIELDS = (TABLE, NAME, CADENCE, FIRST_DAY, REWRITTEN_DAYS)
_CONTENT = {parameter.name: parameter for kind in KINDS.values() for parameter in kind.content}
BODY = body(
    {
        "type": "object",
        "required": [TABLE.name],
        "properties": describe_properties((*_OWN_FIELDS, *_CONTENT.values(), *OF_FILES)),
    }
)
DAYS_BODY = body(
    {
        "type": "object",
        "required": [FROM_DAY.name, UNTIL_DAY.name],
        "properties": describe_properties((FROM_DAY, UNTIL_DAY)),
    }
)


def read_schedule(members: dict[str, Any], space: Space) -> NewSchedule:
    """Raise Invalid with every broken rule."""
    query = JsonInput(members)
    table = TABLE.read(query)
    today = datetime.now(UTC).astimezone(space.zone).date()
    first_day = FIRST_DAY.read(query) or today
    if not today - LONGEST_PAST <= first_day <= today:
        query.refuse(FIRST_DAY.name, "must not be in the future, or more than ten years back.")
    name, cadence = NAME.read(query), CADENCE.read(query)
    rewritten_days = REWRITTEN_DAYS.read(query)
    form, rows_per_file = read_form(query), ROWS_PER_FILE.read(query) or ROWS
    request: dict[str, Any] = {}
    if table is not None:
        names = {parameter.name for parameter in KINDS[table].content}
        request = {key: value for key, value in members.items() if key in names}
        for other_name in _CONTENT.keys() - names:
            if members.get(other_name) is not None:
                query.refuse(other_name, f"is not part of an export of {table}.")
        KINDS[table].check(query, space)
    query.finish()
    assert table is not None
    assert cadence is not None
    assert rewritten_days is not None
    return NewSchedule(name or table, table, cadence, request, form, rows_per_file, first_day, rewritten_days)


def read_days(members: dict[str, Any]) -> tuple[date, date]:
    """Parse days to rewrite. Raises Invalid."""
    query = JsonInput(members)
    first, last = FROM_DAY.read(query), UNTIL_DAY.read(query)
    if first is not None and last is not None:
        if last < first:
            query.refuse(UNTIL_DAY.name, f"must not be before {FROM_DAY.name}.")
        elif last - first > LONGEST_PAST:
            query.refuse(UNTIL_DAY.name, "must not be more than ten years later.")
    query.finish()
    assert first is not None
    assert last is not None
    return first, last
