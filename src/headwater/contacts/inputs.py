"""The bodies that make, change and group contacts, and the answers to them: defined once, for
reading and for the API's description.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast
from zoneinfo import ZoneInfo

import msgspec

from headwater.contacts.profiles import shown_date
from headwater.http.errors import Errors, Invalid
from headwater.http.instants import ISO_SCHEMA, parse_iso
from headwater.identity.emails import parse_email
from headwater.spaces.custom_fields import (
    DATE_FORMS,
    DATE_SLOTS,
    LONGEST_TEXT,
    MAX_SLOT_NUMBER,
    NUMBER_SLOTS,
    NUMBER_TEXT_SCHEMA,
    SLOTS,
    TEXT_SLOTS,
    parse_slot_date,
    parse_slot_number,
)

Schema = dict[str, Any]

MOST_ITEMS = 100
LONGEST_EMAIL = 254
_ID_BOUND = 10**18

CUSTOM_FIELDS = "custom_fields"


@dataclass(frozen=True)
class ContactValues:
    """What a request says of a contact; whatever it does not mention is missing here."""

    collections: dict[str, tuple[str, ...]]
    """By name in COLLECTIONS: each value once, the primary one first."""
    custom_fields: dict[int, str] | None
    """The filled slots; a date is `YYYY-MM-DD` or an instant in UTC."""


@dataclass(frozen=True)
class Collection:
    """The values of one kind that a contact can have."""

    kind: str
    """The kind of its identifiers, and the contact's column of the primary value."""
    parse: Callable[[object], str | None]
    """Reads an item; None leaves it out. Raises ValueError with the rule that it breaks."""
    item: Schema


def _email(item: object) -> str:
    text = item.strip().lower() if isinstance(item, str) else ""
    if len(text) > LONGEST_EMAIL:
        raise ValueError("must be a valid e-mail address.")
    return parse_email(text)


def _text(kind: str, longest: int) -> Collection:
    def parse(item: object) -> str | None:
        if not isinstance(item, str) or len(item) > longest:
            raise ValueError(f"must be a string of at most {longest} characters.")
        return item if item.strip() else None

    return Collection(kind, parse, {"type": "string", "maxLength": longest})


COLLECTIONS = {
    "emails": Collection(
        "email", _email, {"type": "string", "format": "email", "maxLength": LONGEST_EMAIL}
    ),
    "phones": _text("phone", 64),
    "names": _text("name", 255),
    "locations": _text("location", 255),
}


# ------------------------------------------------------------------------------------- reading


def read_new_contact(body: dict[str, Any]) -> ContactValues:
    """The contact that a body describes, every collection included. Raises Invalid."""
    errors: Errors = {}
    if "emails" not in body:
        errors["emails"] = ["The emails is required."]
    elif body["emails"] == []:
        errors["emails"] = ["The emails must have at least one item."]
    nothing: dict[str, Any] = {name: [] for name in COLLECTIONS}
    return _read(nothing | body, errors)


def read_changes(body: dict[str, Any]) -> ContactValues:
    """What a body asks to replace. Raises Invalid."""
    updatable = (*COLLECTIONS, CUSTOM_FIELDS)
    if not body.keys() & set(updatable):
        raise Invalid({"body": [f"At least one of {', '.join(updatable)} must be given."]})
    return _read(body, {})


def read_company_id(body: dict[str, Any]) -> int:
    """The company that a body names. Raises Invalid."""
    if "company_id" not in body:
        raise Invalid.of("company_id", "is required.")
    company_id = body["company_id"]
    if type(company_id) is not int or abs(company_id) >= _ID_BOUND:  # a bool is an int, too
        raise Invalid.of("company_id", "must be an integer of at most 18 digits.")
    return company_id


def _read(body: dict[str, Any], errors: Errors) -> ContactValues:
    collections = {name: _items(name, body[name], errors) for name in COLLECTIONS if name in body}
    fields = _custom_fields(body[CUSTOM_FIELDS], errors) if CUSTOM_FIELDS in body else None
    if errors:
        raise Invalid(errors)
    return ContactValues(collections, fields)


def _items(name: str, given: Any, errors: Errors) -> tuple[str, ...]:
    if not isinstance(given, list):
        errors[name] = [f"The {name} must be an array."]
        return ()
    items = cast("list[object]", given)
    if len(items) > MOST_ITEMS:
        errors[name] = [f"The {name} must not have more than {MOST_ITEMS} items."]
        return ()
    values: list[str | None] = []
    for index, item in enumerate(items):
        try:
            values.append(COLLECTIONS[name].parse(item))
        except ValueError as error:
            errors[f"{name}.{index}"] = [f"The {name}.{index} {error}"]
    return tuple(dict.fromkeys(value for value in values if value is not None))


_SLOT_NUMBERS = {name: number for number, name in SLOTS}


def _custom_fields(given: Any, errors: Errors) -> dict[int, str]:
    if not isinstance(given, dict):
        errors[CUSTOM_FIELDS] = [f"The {CUSTOM_FIELDS} must be an object."]
        return {}
    found: dict[int, str] = {}
    for key, value in cast("dict[str, object]", given).items():
        place = f"{CUSTOM_FIELDS}.{key}"
        if key not in _SLOT_NUMBERS:
            rule = "must be one of profile_field_1 to profile_field_30."
            errors[place] = [f"The {place} {rule}"]
        elif value is not None and not (isinstance(value, str) and not value.strip()):
            slot = _SLOT_NUMBERS[key]
            try:
                found[slot] = _slot_value(slot, value)
            except ValueError as error:
                errors[place] = [f"The {place} {error}"]
    return found


def _slot_value(slot: int, value: object) -> str:
    if slot in TEXT_SLOTS:
        if not isinstance(value, str) or len(value) > LONGEST_TEXT:
            raise ValueError(f"must be a string of at most {LONGEST_TEXT} characters.")
        return value
    if slot in NUMBER_SLOTS:
        if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
            raise ValueError("must be a number or text holding one.")
        return parse_slot_number(value)
    if isinstance(value, str):
        return parse_slot_date(value, parse_iso)
    raise ValueError(DATE_FORMS)


# ------------------------------------------------------------------------------------ answering


def answer(contact_id: int, values: ContactValues, zone: ZoneInfo, message: str) -> bytes:
    """The values a contact was given, as stored, in the form in which contacts are shown."""
    told: dict[str, Any] = {"id": contact_id, **values.collections}
    if values.custom_fields is not None:
        told[CUSTOM_FIELDS] = {
            name: _shown(slot, values.custom_fields[slot], zone)
            for slot, name in SLOTS
            if slot in values.custom_fields
        }
    return msgspec.json.encode({**told, "message": message})


def membership(contact_id: int, company_id: int | None) -> bytes:
    """The company that a contact is now a member of."""
    return msgspec.json.encode({"id": contact_id, "company_id": company_id})


def _shown(slot: int, value: str, zone: ZoneInfo) -> str | msgspec.Raw:
    if slot in NUMBER_SLOTS:
        return msgspec.Raw(value.encode())
    return shown_date(value, zone) if slot in DATE_SLOTS else value


# ---------------------------------------------------------------------------------- documenting

_NULL: Schema = {"type": "null"}
_BLANK: Schema = {"type": "string", "pattern": r"^\s*$"}
_STRINGS: Schema = {"type": "array", "items": {"type": "string"}}
_MESSAGE: Schema = {"type": "string"}
_ID: Schema = {"type": "integer"}


def _slot_schema(slot: int) -> Schema:
    if slot in TEXT_SLOTS:
        return {"type": ["string", "null"], "maxLength": LONGEST_TEXT}
    bound = float(MAX_SLOT_NUMBER)
    number = {"type": "number", "minimum": -bound, "maximum": bound}
    forms = [number, NUMBER_TEXT_SCHEMA] if slot in NUMBER_SLOTS else [ISO_SCHEMA]
    return {"anyOf": [*forms, _BLANK, _NULL]}


_FIELDS_GIVEN: Schema = {
    "description": "Null and blank text leave a field unset.",
    "type": "object",
    "properties": {name: _slot_schema(slot) for slot, name in SLOTS},
    "additionalProperties": False,
}
_FIELDS_SHOWN: Schema = {
    "description": "The fields that are set.",
    "type": "object",
    "properties": {
        name: {"type": "number" if slot in NUMBER_SLOTS else "string"} for slot, name in SLOTS
    },
    "additionalProperties": False,
}


def _given(description: str) -> dict[str, Schema]:
    arrays = {
        name: {
            "description": description, "type": "array", "maxItems": MOST_ITEMS,
            "items": collection.item,
        }
        for name, collection in COLLECTIONS.items()
    }  # fmt: skip
    return {**arrays, CUSTOM_FIELDS: _FIELDS_GIVEN}


def _json(schema: Schema) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": {"type": "object", **schema}}}}


_NEW = _given("The first item becomes the primary value.")
_CHANGES = _given("Replaces all values of the kind; the first becomes the primary one.")

BODY_OF_NEW: dict[str, Any] = {
    "required": True,
    **_json(
        {
            "required": ["emails"],
            "properties": {**_NEW, "emails": {**_NEW["emails"], "minItems": 1}},
        }
    ),
}
BODY_OF_CHANGES: dict[str, Any] = {
    "required": True,
    **_json({"properties": _CHANGES, "anyOf": [{"required": [name]} for name in _CHANGES]}),
}
BODY_OF_COMPANY: dict[str, Any] = {
    "required": True,
    **_json(
        {
            "required": ["company_id"],
            "properties": {
                "company_id": {
                    "type": "integer",
                    "minimum": 1 - _ID_BOUND,
                    "maximum": _ID_BOUND - 1,
                }
            },
        }
    ),
}

_SHOWN: Schema = {
    "id": _ID,
    **dict.fromkeys(COLLECTIONS, _STRINGS),
    CUSTOM_FIELDS: _FIELDS_SHOWN,
    "message": _MESSAGE,
}

CREATED: dict[str, Any] = {
    "description": "The contact as stored; `custom_fields` only when they were given.",
    **_json({"required": ["id", *COLLECTIONS, "message"], "properties": _SHOWN}),
}
UPDATED: dict[str, Any] = {
    "description": "The canonical id, and as stored what was given.",
    **_json({"required": ["id", "message"], "properties": _SHOWN}),
}


def _membership(company_id: Schema, description: str) -> dict[str, Any]:
    properties = {"id": _ID, "company_id": company_id}
    return {
        "description": description,
        **_json({"required": list(properties), "properties": properties}),
    }


ATTACHED = _membership(_ID, "The contact's canonical id, and its company.")
DETACHED = _membership(_NULL, "The contact's canonical id; it has no company.")
