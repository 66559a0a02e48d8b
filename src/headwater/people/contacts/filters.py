"""Compile conditions on custom fields to SQL, by slot type and operator.

A fragment refers to the field as `{field}` and binds only its reader's values. `strpos`, `starts_with` and
`right` compare literally, so values have no wildcards; text is case-sensitive.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct
from psycopg.sql import SQL, Composable, Identifier, Placeholder

from headwater.http.decimals import number_pattern
from headwater.http.inputs.parameters import Input
from headwater.http.inputs.timerange import TimeRange, parse_day, whole_days
from headwater.spaces.custom_fields import LONGEST_TEXT, NAME_RULE, SLOT_TYPES

PARAMETER = "custom_field_filters"
MAX_CONDITIONS = 10

# A word boundary, independent of the database's locale: ASCII white space and punctuation except the
# underscore.
_BREAK = r"[\s!-/:-@[-^`{-~]"
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_\u0080-\U0010ffff]")
_NUMBER = re.compile(number_pattern(sign="-?", digits=30))


class DateContext(Struct, frozen=True):
    zone: ZoneInfo
    today: date


Reader = Callable[[dict[str, str], DateContext], dict[str, Any]]
"""Reads a condition's members and returns the values to bind. Raises BadMember."""


class BadMember(ValueError):
    def __init__(self, member: str, rule: str) -> None:
        super().__init__(rule)
        self.member = member


class Operator(Struct, frozen=True):
    sql: SQL
    read: Reader


@dataclass(frozen=True)
class Condition:
    field: str
    sql: SQL
    values: tuple[tuple[str, Any], ...]

    def compose(self, number: int) -> tuple[Composable, dict[str, Any]]:
        """Compose a condition on contact `k`. `number` makes parameter names unique."""
        names = {name: f"condition_{number}_{name}" for name, _ in self.values}
        fragment = self.sql.format(
            field=Identifier("k", self.field), **{name: Placeholder(bound) for name, bound in names.items()}
        )
        return fragment, {names[name]: value for name, value in self.values}


def compose_all(conditions: Sequence[Condition]) -> tuple[Composable, dict[str, Any]]:
    """Require all conditions for contact `k`. There must be at least one."""
    fragments = [condition.compose(number) for number, condition in enumerate(conditions)]
    bound = {name: value for _, values in fragments for name, value in values.items()}
    return SQL(" AND ").join(fragment for fragment, _ in fragments), bound


def _require_member(members: dict[str, str], name: str) -> str:
    if not members.get(name, "").strip():
        raise BadMember(name, "is required.")
    return members[name]


def _nothing(_members: dict[str, str], _clock: DateContext) -> dict[str, Any]:
    return {}


def _text(members: dict[str, str], _clock: DateContext) -> dict[str, Any]:
    value = members.get("value", "")
    if not value:
        raise BadMember("value", "is required.")
    if len(value) > LONGEST_TEXT:
        raise BadMember("value", f"must not be longer than {LONGEST_TEXT} characters.")
    return {"value": value}


def _word(members: dict[str, str], clock: DateContext) -> dict[str, Any]:
    value = _text(members, clock)["value"]
    literal = _NOT_PLAIN.sub(lambda sign: "\\" + sign[0], value)
    return {"word": f"(?:^|{_BREAK}){literal}(?:$|{_BREAK})"}


def _number(members: dict[str, str], _clock: DateContext) -> dict[str, Any]:
    value = _require_member(members, "value")
    if not _NUMBER.fullmatch(value):
        raise BadMember("value", "must be a number.")
    return {"value": Decimal(value)}


def _day(members: dict[str, str], name: str) -> date:
    try:
        return parse_day(_require_member(members, name))
    except BadMember:
        raise
    except ValueError as error:
        raise BadMember(name, str(error)) from None


def _bounds(time: TimeRange) -> dict[str, Any]:
    return {"start": time.start, "end": time.end}


def _one_day(members: dict[str, str], clock: DateContext) -> dict[str, Any]:
    day = _day(members, "value")
    return _bounds(whole_days(day, day, clock.zone))


def _days(members: dict[str, str], clock: DateContext) -> dict[str, Any]:
    start, end = _day(members, "start"), _day(members, "end")
    if end < start:
        raise BadMember("end", "must not be before start.")
    return _bounds(whole_days(start, end, clock.zone))


def _age(members: dict[str, str], clock: DateContext) -> dict[str, Any]:
    """Return the bounds of that day; ages are limited to the calendar."""
    value = _require_member(members, "value")
    if not re.fullmatch("[0-9]{1,9}", value):
        raise BadMember("value", "must be a whole number of days.")
    day = clock.today - timedelta(days=min(int(value), (clock.today - date.min).days))
    return _bounds(whole_days(day, day, clock.zone))


OPERATORS: dict[str, dict[str, Operator]] = {
    "text": {
        "equal_to": Operator(SQL("{field} = {value}"), _text),
        "not_equal_to": Operator(SQL("({field} <> {value} AND {field} <> '')"), _text),
        "contains": Operator(SQL("strpos({field}, {value}) > 0"), _text),
        "not_contains": Operator(SQL("(strpos({field}, {value}) = 0 AND {field} <> '')"), _text),
        "starts_with": Operator(SQL("starts_with({field}, {value})"), _text),
        "ends_with": Operator(SQL("right({field}, length({value})) = {value}"), _text),
        "contains_word": Operator(SQL("{field} ~ {word}"), _word),
        "any": Operator(SQL("{field} <> ''"), _nothing),
        "unknown": Operator(SQL("coalesce({field}, '') = ''"), _nothing),
    },
    "number": {
        "equal_to": Operator(SQL("{field} = {value}"), _number),
        "not_equal_to": Operator(SQL("{field} <> {value}"), _number),
        "greater_than": Operator(SQL("{field} > {value}"), _number),
        "greater_than_or_equal_to": Operator(SQL("{field} >= {value}"), _number),
        "less_than": Operator(SQL("{field} < {value}"), _number),
        "less_than_or_equal_to": Operator(SQL("{field} <= {value}"), _number),
        "any": Operator(SQL("{field} > 0"), _nothing),
        "unknown": Operator(SQL("coalesce({field}, 0) = 0"), _nothing),
    },
    # `start` and `end` are the instants that bound the day or days.
    "date": {
        "equal_to": Operator(SQL("({field} >= {start} AND {field} < {end})"), _one_day),
        "between": Operator(SQL("({field} >= {start} AND {field} < {end})"), _days),
        "greater_than": Operator(SQL("{field} >= {end}"), _one_day),
        "less_than": Operator(SQL("{field} < {start}"), _one_day),
        "age_greater_than": Operator(SQL("{field} < {start}"), _age),
        "age_equal_to": Operator(SQL("({field} >= {start} AND {field} < {end})"), _age),
        "age_less_than": Operator(SQL("{field} >= {end}"), _age),
        "any": Operator(SQL("{field} IS NOT NULL"), _nothing),
        "unknown": Operator(SQL("{field} IS NULL"), _nothing),
    },
}

_TEXT_SCHEMA = {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT}
_DAY_SCHEMA = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
_MEMBERS: dict[Reader, dict[str, Any]] = {
    _nothing: {},
    _text: {"value": _TEXT_SCHEMA},
    _word: {"value": _TEXT_SCHEMA},
    _number: {"value": {"type": "string", "pattern": f"^{_NUMBER.pattern}$"}},
    _one_day: {"value": _DAY_SCHEMA},
    _days: {"start": _DAY_SCHEMA, "end": _DAY_SCHEMA},
    _age: {"value": {"type": "string", "pattern": "^[0-9]{1,9}$"}},
}
"""Schemas of the members that each reader requires, besides `field` and `operator`."""


def _schemas() -> list[dict[str, Any]]:
    """Return a schema per field type and set of required members."""
    schemas: list[dict[str, Any]] = []
    for kind, table in OPERATORS.items():
        fields = [field for field, slot_kind in SLOT_TYPES.items() if slot_kind == kind]
        for reader, members in _MEMBERS.items():
            names = [name for name, operator in table.items() if operator.read is reader]
            properties = {"field": {"enum": fields}, "operator": {"enum": names}, **members}
            if names:
                schemas.append({"required": list(properties), "properties": properties})
    return schemas


DOCUMENTATION: dict[str, Any] = {
    "name": PARAMETER,
    "in": "query",
    "required": False,
    "description": (
        "Up to ten conditions on the contact's custom fields, which must all match: a JSON list, such as "
        '`[{"field": "profile_field_1", "operator": "equal_to", "value": "gold"}]`. Or as '
        "numbered parameters: `custom_field_filters[0][field]=…&custom_field_filters[0][operator]=…`. The "
        "field needs a label in the Space. `between` takes `start` and `end`, `any` and `unknown` take no "
        "value, age operators take a number of days. Operators by field type: "
        + "; ".join(f"{kind}: {', '.join(table)}" for kind, table in OPERATORS.items())
        + "."
    ),
    "schema": {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": {
            "type": "array",
            "maxItems": MAX_CONDITIONS,
            "items": {
                "type": "object",
                "propertyNames": {"pattern": "^[a-z_]+$"},
                "additionalProperties": {"type": "string"},
                "anyOf": _schemas(),
            },
        },
    },
}


ARGUMENT: dict[str, Any] = {
    PARAMETER: {
        "type": "array",
        "maxItems": MAX_CONDITIONS,
        "description": (
            'Conditions that must all match, such as {"field": "profile_field_1", "operator": '
            '"contains", "value": "Pro"}; see trk://profile-fields.'
        ),
        "items": {"type": "object"},
    }
}
"""The conditions as a member of a JSON body."""


def read_conditions(query: Input, labels: dict[str, str], clock: DateContext) -> tuple[Condition, ...]:
    objects = query.objects(PARAMETER)
    if len(objects) > MAX_CONDITIONS:
        query.refuse(PARAMETER, f"must not have more than {MAX_CONDITIONS} conditions.")
        return ()
    conditions: list[Condition] = []
    for index, members in objects.items():
        try:
            conditions.append(_condition(members, labels, clock))
        except BadMember as error:
            query.refuse(f"{PARAMETER}.{index}.{error.member}", str(error))
    return tuple(conditions)


def _condition(members: dict[str, str], labels: dict[str, str], clock: DateContext) -> Condition:
    field = _require_member(members, "field")
    if field not in SLOT_TYPES:
        raise BadMember("field", NAME_RULE)
    if field not in labels:
        raise BadMember("field", "must be a field that has a label in this Space.")
    table = OPERATORS[SLOT_TYPES[field]]
    name = _require_member(members, "operator")
    if name not in table:
        raise BadMember("operator", f"must be one of {', '.join(table)} for {field}.")
    operator = table[name]
    return Condition(field, operator.sql, tuple(operator.read(members, clock).items()))
