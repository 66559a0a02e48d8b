"""The body that puts names into the catalogue, the parameters of its list, and the answers:
defined once, for reading and for the API's description.
"""

from __future__ import annotations

from typing import Any, cast

from headwater.ads.catalogue import KINDS, AdName
from headwater.http.errors import Errors, Invalid
from headwater.http.openapi import answer, body
from headwater.http.pagination import CURSOR, Cursors, Position, envelope_schema
from headwater.http.parameters import Parameter, Query, whole_number

Schema = dict[str, Any]

MOST_NAMES = 1000
LONGEST = 512
LONGEST_PLATFORM = 64


# ------------------------------------------------------------------------------------- reading


def read_names(body: dict[str, Any]) -> list[AdName]:
    """The names that a body holds. Raises Invalid, naming every field at fault."""
    given = body.get("ads")
    if not isinstance(given, list):
        raise Invalid.of("ads", "must be an array of ads.")
    items = cast("list[object]", given)
    if not 1 <= len(items) <= MOST_NAMES:
        raise Invalid.of("ads", f"must hold 1 to {MOST_NAMES} ads.")
    errors: Errors = {}
    names: list[AdName] = []
    for index, item in enumerate(items):
        try:
            names.append(read_name(item))
        except Invalid as invalid:
            for field, rules in invalid.errors.items():
                place = f"ads.{index}.{field}" if field else f"ads.{index}"
                errors[place] = [f"The {place} {rule}" for rule in rules]
    if errors:
        raise Invalid(errors)
    return names


def read_name(item: object) -> AdName:
    """One item. Raises Invalid, whose rules stand by field without the name of the field; those
    of the item itself are under an empty one.
    """
    if not isinstance(item, dict):
        raise Invalid({"": ["must be an object."]})
    given = cast("dict[str, object]", item)
    errors: Errors = {}
    kind = given.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        errors["kind"] = [f"must be one of {', '.join(KINDS)}."]
    values: dict[str, str | None] = {}
    for name, longest in (("id", LONGEST), ("name", LONGEST), ("platform", LONGEST_PLATFORM)):
        try:
            values[name] = _text(given.get(name), longest, number=name == "id")
            if values[name] is None and name != "platform":
                errors[name] = ["is required."]
        except ValueError as error:
            errors[name] = [str(error)]
    if errors:
        raise Invalid(errors)
    return AdName(str(kind), str(values["id"]), str(values["name"]), values["platform"])


def _text(value: object, longest: int, *, number: bool) -> str | None:
    """Text without the blanks around it; None when there is none. Raises ValueError."""
    if number and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if value is None:
        return None
    if not isinstance(value, str) or len(value.strip()) > longest:
        or_whole = " or an integer" if number else ""
        raise ValueError(f"must be a string of at most {longest} characters{or_whole}.")
    return value.strip() or None


# ------------------------------------------------------------------------------------- listing

PER_PAGE = Parameter(
    name="per_page", kind=whole_number(1, 1000), default=200,
    description="How many rows a page has at most.",
)  # fmt: skip
DOCUMENTATION = [each.openapi() for each in (PER_PAGE, CURSOR)]


def cursors(signing_key: bytes, space_id: int) -> Cursors:
    """The cursors of the list."""
    return Cursors(signing_key, space_id, "/ads", None)


def read_list(query: Query, cursors: Cursors) -> tuple[int, Position | None]:
    """How many rows a query asks for, and from where. Raises Invalid."""
    per_page = PER_PAGE.read(query) or 0
    at = cursors.read_from(query)
    query.finish()
    return per_page, at


# ---------------------------------------------------------------------------------- documenting

_TEXT: Schema = {"type": "string"}
_KIND: Schema = {"type": "string", "enum": list(KINDS)}


def _given(longest: int) -> Schema:
    return {"type": "string", "pattern": r"\S", "maxLength": longest}


_ITEM: Schema = {
    "type": "object",
    "required": ["kind", "id", "name"],
    "properties": {
        "kind": _KIND,
        "id": {
            "description": "The platform's id, as touchpoints have it.",
            "anyOf": [_given(LONGEST), {"type": "integer"}],
        },
        "name": _given(LONGEST),
        "platform": {
            "description": "Absent, null or blank, the one told before stays.",
            "type": ["string", "null"], "maxLength": LONGEST_PLATFORM,
        },
    },
}  # fmt: skip
_ROW: Schema = {
    "type": "object",
    "required": ["kind", "id", "name", "platform", "updated_at"],
    "properties": {
        "kind": _KIND, "id": _TEXT, "name": _TEXT, "platform": {"type": ["string", "null"]},
        "updated_at": {"type": "string", "format": "date-time"},
    },
}  # fmt: skip


BODY: Schema = body(
    {
        "type": "object",
        "required": ["ads"],
        "properties": {
            "ads": {
                "description": "All are stored, or none. Of an id given twice the last counts.",
                "type": "array", "minItems": 1, "maxItems": MOST_NAMES, "items": _ITEM,
            }
        },
    }
)  # fmt: skip
STORED: Schema = answer(
    "All names are stored.",
    {"type": "object", "required": ["message"], "properties": {"message": _TEXT}},
)
PAGE: Schema = answer("One page.", envelope_schema(_ROW))
