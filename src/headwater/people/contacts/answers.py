from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar
from zoneinfo import ZoneInfo

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from headwater.http.answers import DataPage, Instant
from headwater.people.contacts.inputs import CUSTOM_FIELDS, ContactValues
from headwater.people.contacts.journey import MAX_ITEMS
from headwater.people.contacts.profiles import format_date
from headwater.spaces.currencies import AmountCurrency, AmountInSpaceCurrency
from headwater.spaces.custom_fields import DATE_SLOTS, NUMBER_SLOTS, SLOT_TYPES, SLOTS
from headwater.spaces.known_values import ListedSource

DAY_OR_MOMENT = "`YYYY-MM-DD` at midnight in the Space's zone, else a date-time in UTC."

TextField = str | None | UnsetType
NumberField = float | None | UnsetType
DateField = Annotated[str | None, Meta(description=DAY_OR_MOMENT)] | UnsetType
Tokens = Annotated[list[str], Meta(max_length=5)]


class _PrimaryValues(Struct, frozen=True, kw_only=True):
    id: int
    email: str | None
    name: str | None
    phone: str | None
    location: str | None
    trk_tokens: Tokens | UnsetType = UNSET
    emails: list[str] | UnsetType = UNSET


ROW_FIELDS = _PrimaryValues.__struct_fields__

_FIELD_TYPES: Mapping[str, Any] = {"text": TextField, "number": NumberField, "date": DateField}
_WithFields: Any = msgspec.defstruct(
    "_WithFields",
    [(name, _FIELD_TYPES[kind], UNSET) for name, kind in SLOT_TYPES.items()],
    bases=(_PrimaryValues,),
    frozen=True,
    kw_only=True,
)


class ListedContact(_WithFields):
    """A contact in a list. With `use_custom_field_labels=1` labels replace the names of profile fields."""


class ContactPage(DataPage[ListedContact], frozen=True):
    """One page of contacts."""


class TouchpointAnswer(Struct, frozen=True, tag_field="type", tag="touchpoint"):
    """A visit from a source."""

    id: int
    event_time_utc: Instant
    event_url: str | None
    referrer_host: str | None
    source: ListedSource
    is_paid: bool
    is_direct: bool
    ad_id: str | None
    ad_name: str | None
    adset_id: str | None
    adset_name: str | None
    campaign_id: str | None
    campaign_name: str | None
    account_id: str | None
    account_name: str | None
    company_id: int | None


class ConversionAnswer(Struct, frozen=True, tag_field="type", tag="conversion"):
    """An event in a contact's journey."""

    id: int
    event_time_utc: Instant
    event_url: str | None
    event_name: str
    configured_name: str
    amount: float | None
    order_id: str | None
    order_name: str | None
    is_upsell: bool
    company_id: int | None


class JourneyConversion(ConversionAnswer, frozen=True, tag_field="type", tag="conversion"):
    """An event in a contact's journey, with its currency."""

    currency: AmountCurrency
    amount_in_space_currency: AmountInSpaceCurrency


class JourneyPage(DataPage[JourneyConversion | TouchpointAnswer], frozen=True):
    """One page of a contact's journey."""


class PageView(Struct, frozen=True):
    """A page that a contact viewed."""

    event_url: str | None
    referrer_host: str | None
    source: ListedSource | None
    country: str | None
    device_type: str | None
    browser: str | None
    os: str | None
    event_name: str
    event_time_utc: Instant


class ContactAnswer(Struct, frozen=True):
    """A contact, under its canonical id."""

    id: int
    emails: list[str]
    phones: list[str]
    names: list[str]
    locations: list[str]
    custom_fields: Annotated[
        dict[str, str | float],
        Meta(
            description="The fields that are filled, by slot or by label: text, number, or date. "
            f"A date is {DAY_OR_MOMENT}"
        ),
    ]
    trk_tokens: Tokens | UnsetType = UNSET
    events: Annotated[list[ConversionAnswer | TouchpointAnswer], Meta(max_length=MAX_ITEMS)] | UnsetType = (
        UNSET
    )
    events_left_out: (
        Annotated[int, Meta(ge=1, description="The number of earlier items, if there are any.")] | UnsetType
    ) = UNSET
    browsing_session_hits: Annotated[list[PageView], Meta(max_length=1000)] | UnsetType = UNSET


class SeveralContacts(Struct, frozen=True):
    """Several contacts match the e-mail address."""

    message: str
    contact_ids: Annotated[list[int], Meta(min_length=2)]


class CreatedContact(Struct, frozen=True, kw_only=True):
    """The contact as stored; `custom_fields` only when they were given."""

    id: int
    emails: list[str]
    phones: list[str]
    names: list[str]
    locations: list[str]
    custom_fields: dict[str, str | float] | UnsetType = UNSET
    message: str


class UpdatedContact(Struct, frozen=True, kw_only=True):
    """The canonical id, and as stored what was given."""

    id: int
    emails: list[str] | UnsetType = UNSET
    phones: list[str] | UnsetType = UNSET
    names: list[str] | UnsetType = UNSET
    locations: list[str] | UnsetType = UNSET
    custom_fields: dict[str, str | float] | UnsetType = UNSET
    message: str


class ContactCompany(Struct, frozen=True):
    """A contact's canonical id and its company."""

    id: int
    company_id: int | None


StoredAnswer = TypeVar("StoredAnswer", CreatedContact, UpdatedContact)


def describe_values(
    kind: type[StoredAnswer], contact_id: int, values: ContactValues, zone: ZoneInfo, message: str
) -> StoredAnswer:
    members: dict[str, Any] = {name: list(items) for name, items in values.collections.items()}
    if values.custom_fields is not None:
        members[CUSTOM_FIELDS] = {
            name: _field_value(slot, values.custom_fields[slot], zone)
            for slot, name in SLOTS
            if slot in values.custom_fields
        }
    return kind(id=contact_id, message=message, **members)


def _field_value(slot: int, value: str, zone: ZoneInfo) -> str | msgspec.Raw:
    if slot in NUMBER_SLOTS:
        return msgspec.Raw(value.encode())
    return format_date(value, zone) if slot in DATE_SLOTS else value
