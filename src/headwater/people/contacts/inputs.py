"""Bodies that create, change and group contacts, also for the API description."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from headwater.http.inputs.emails import EMAIL
from headwater.http.inputs.fields import REQUIRED, FieldType, integer, text_up_to, unless_blank
from headwater.http.inputs.objects import Property, array_of, map_of, object_of, parse_body
from headwater.http.openapi import body
from headwater.spaces.custom_fields import NAME_RULE, SLOT_FIELDS, SLOTS

MAX_ITEMS = 100

CUSTOM_FIELDS = "custom_fields"


class ContactValues(Struct, frozen=True):
    """The contact values of a request. Absent values are not mentioned."""

    collections: dict[str, tuple[str, ...]]
    """Distinct values by name in COLLECTIONS, the primary one first."""
    custom_fields: dict[int, str] | None
    """The filled slots. A date is `YYYY-MM-DD` or an instant in UTC."""

    @property
    def names(self) -> list[str]:
        """Return the names of the mentioned fields, without their values."""
        return [*self.collections, *(["custom_fields"] if self.custom_fields is not None else [])]


@dataclass(frozen=True)
class Collection:
    kind: str
    """The kind of identifier, and the column of the primary value."""
    item: FieldType[str | None]
    """None drops an item."""


COLLECTIONS = {
    "emails": Collection("email", EMAIL.then(unless_blank)),
    "phones": Collection("phone", text_up_to(64).then(unless_blank)),
    "names": Collection("name", text_up_to(255).then(unless_blank)),
    "locations": Collection("location", text_up_to(255).then(unless_blank)),
}


def _custom_fields(values: dict[str, str | None]) -> dict[int, str]:
    by_number = {slot: values.get(name) for slot, name in SLOTS}
    return {slot: value for slot, value in by_number.items() if value is not None}


def _distinct(items: tuple[str | None, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for item in items if item is not None))


def _properties(description: str, *, required: str = "") -> dict[str, Property]:
    properties = {
        name: Property(
            array_of(collection.item, MAX_ITEMS, min_items=int(name == required)).then(_distinct),
            description,
            missing=REQUIRED if name == required else "",
        )
        for name, collection in COLLECTIONS.items()
    }
    fields = map_of(SLOT_FIELDS, NAME_RULE).then(_custom_fields)
    return {**properties, CUSTOM_FIELDS: Property(fields, "Null and blank text clear a field.")}


def _contact_values(values: dict[str, Any]) -> ContactValues:
    collections = {name: values[name] for name in COLLECTIONS if name in values}
    return ContactValues(collections, values.get(CUSTOM_FIELDS))


def _all_collections(values: ContactValues) -> ContactValues:
    empty: dict[str, tuple[str, ...]] = dict.fromkeys(COLLECTIONS, ())
    return ContactValues(empty | values.collections, values.custom_fields)


NEW_CONTACT = (
    object_of(_properties("The first item becomes the primary value.", required="emails"))
    .then(_contact_values)
    .then(_all_collections)
)
CHANGES = object_of(
    _properties("Replaces all values of this kind; the first becomes the primary value."),
    if_empty=f"At least one of {', '.join((*COLLECTIONS, CUSTOM_FIELDS))} must be given.",
).then(_contact_values)
MEMBERSHIP = object_of({"company_id": Property(integer(18), missing=REQUIRED)})


def read_new_contact(body: dict[str, Any]) -> ContactValues:
    """Parse every collection. Raises Invalid."""
    return parse_body(NEW_CONTACT, body)


def read_changes(body: dict[str, Any]) -> ContactValues:
    """Parse the values to replace. Raises Invalid."""
    return parse_body(CHANGES, body)


def read_company_id(body: dict[str, Any]) -> int:
    """Parse a company id. Raises Invalid."""
    return parse_body(MEMBERSHIP, body)["company_id"]


NEW_CONTACT_BODY = body(NEW_CONTACT.schema)
BODY_OF_CHANGES = body(CHANGES.schema)
BODY_OF_COMPANY = body(MEMBERSHIP.schema)
