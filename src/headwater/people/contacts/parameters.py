"""Parameters to read contacts, also for the API description."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from headwater.http.inputs.date_range import date_range
from headwater.http.inputs.emails import LONGEST_EMAIL, WRITTEN_EMAIL, parse_written_email
from headwater.http.inputs.fields import TEXT, is_blank, one_of, text_up_to
from headwater.http.inputs.pagination import CURSOR, Cursors, page_size
from headwater.http.inputs.parameters import Input, Parameter
from headwater.http.inputs.timerange import EVER, TimeRange
from headwater.people.contacts import filters
from headwater.people.contacts.answers import ROW_FIELDS
from headwater.people.contacts.field_labels import field_names
from headwater.people.contacts.models import (
    ContactRow,
    ContactSelection,
    GetContact,
    ListContacts,
    ListJourney,
)
from headwater.spaces.models import Space

MAX_EMAILS = 100

_FLAG = one_of((0, 1))
_COMMA_OR_QUOTE = re.compile('[,"]')
_ESCAPE_OR_QUOTE = re.compile(r'\\.|"', re.DOTALL)

EMAIL = Parameter(
    name="email",
    kind=WRITTEN_EMAIL.documented(type="string", pattern="@"),
    required=True,
    description="The address to look up, ignoring case and surrounding blanks.",
)
EMAILS: dict[str, Any] = {
    "name": "email",
    "in": "query",
    "required": False,
    "description": (
        "Only contacts with one of these addresses: primary, secondary, or of a merged contact. "
        "Comma-separated, or the parameter repeated as `email=` or `email[]=`; "
        f"at most {MAX_EMAILS} in total."
    ),
    "style": "form",
    "explode": True,
    "schema": {"type": "array", "items": {"type": "string"}, "maxItems": MAX_EMAILS},
}
EMAILS_ARGUMENT: dict[str, Any] = {
    EMAILS["name"]: {**EMAILS["schema"], "description": "Only contacts with one of these addresses."}
}
CREATED = date_range(
    "Only contacts created at or after this time, in the Space's time zone. Required with "
    "`end_date`, and without `email`.",
    "Only contacts created up to this time, inclusive; must be after `start_date`. Required with "
    "`start_date`, and without `email`.",
)
PER_PAGE = page_size(5000)
TRK_TOKENS = Parameter(
    name="include_trk_tokens",
    kind=_FLAG,
    default=0,
    description="1 adds `trk_tokens`, the last five, most recent first.",
)
ALL_EMAILS = Parameter(
    name="include_all_emails",
    kind=_FLAG,
    default=0,
    description="1 adds `emails`: every address, the primary one first, then most recent first.",
)
CUSTOM_FIELDS = Parameter(
    name="include_custom_fields",
    kind=_FLAG,
    default=0,
    description="1 adds `profile_field_1` to `profile_field_30`, null where unset.",
)
LABELS = Parameter(
    name="use_custom_field_labels",
    kind=_FLAG,
    default=0,
    description="1 names fields by their labels, if unique.",
)
EVENTS = Parameter(
    name="include_events",
    kind=_FLAG,
    default=0,
    description="1 adds `events`: all conversions and touchpoints, most recent first.",
)
HIDE_DIRECT = Parameter(
    name="hide_direct_touchpoints",
    kind=_FLAG,
    default=1,
    description="1 hides direct touchpoints, 0 includes them.",
)
HITS = Parameter(
    name="include_browsing_session_data",
    kind=_FLAG,
    default=0,
    description="1 adds `browsing_session_hits`, the last 1,000, most recent first.",
)

NAME = Parameter(
    name="name",
    kind=text_up_to(255, shortest=2, trim=True, length_rule="must have 2 to 255 characters."),
    description="The beginning of a name; among the latest 20,000 contacts, any part of a name.",
)
"""For assistants."""

LIST_DOCUMENTATION = [
    EMAILS,
    *(parameter.openapi() for parameter in CREATED.parameters),
    PER_PAGE.openapi(),
    CURSOR.openapi(),
    TRK_TOKENS.openapi(),
    ALL_EMAILS.openapi(),
    CUSTOM_FIELDS.openapi(),
    LABELS.openapi(),
    filters.DOCUMENTATION,
]
GET_DOCUMENTATION = [parameter.openapi() for parameter in (TRK_TOKENS, EVENTS, HIDE_DIRECT, LABELS, HITS)]
JOURNEY_PER_PAGE = page_size(1000)
JOURNEY_DOCUMENTATION = [parameter.openapi() for parameter in (HIDE_DIRECT, JOURNEY_PER_PAGE, CURSOR)]
FIND_DOCUMENTATION = [EMAIL.openapi(), *GET_DOCUMENTATION]


def cursors(query: Input, signing_key: bytes, space_id: int) -> Cursors:
    """Return a list's cursors, regardless of how it lists addresses."""
    emails = sorted({text.strip().lower() for text in _addresses(query)})
    conditions = list(query.objects(filters.PARAMETER).values())
    filters_: list[Any] = [emails, CREATED.texts(query), conditions]
    return Cursors(signing_key, space_id, "/contacts", filters_)


def search_cursors(query: Input, signing_key: bytes, space_id: int) -> Cursors:
    list_filters = cursors(query, signing_key, space_id).filters
    return Cursors(signing_key, space_id, "/contacts/search", [list_filters, query.texts(NAME.name)])


def journey_cursors(query: Input, signing_key: bytes, space_id: int, contact_id: int) -> Cursors:
    direct = query.texts(HIDE_DIRECT.name) == ["0"]
    return Cursors(signing_key, space_id, f"/contacts/{contact_id}/journey", direct)


def read_list_journey(
    query: Input, cursors: Cursors, per_page: Parameter[int] = JOURNEY_PER_PAGE
) -> ListJourney:
    """Raise Invalid with every broken rule."""
    request = ListJourney(HIDE_DIRECT.read(query) == 0, per_page.read(query) or 0, cursors.read_from(query))
    query.finish()
    return request


def read_list_contacts(query: Input, space: Space, cursors: Cursors, current_time: datetime) -> ListContacts:
    """Raise Invalid with every broken rule."""
    created_times = CREATED.read_time(query, space.zone, EVER)
    if CREATED.is_absent(query) and not _addresses(query):
        for parameter in CREATED.parameters:
            query.refuse(parameter.name, "is required unless email is given.")
    return _read_page(query, space, cursors, current_time, created_times)


def read_search(query: Input, space: Space, cursors: Cursors, current_time: datetime) -> ListContacts:
    """Parse optional parameters. Raises Invalid with every broken rule."""
    name = NAME.read(query) or ""
    if name and _addresses(query):
        query.refuse(NAME.name, "must not be given with email.")
    created_times = CREATED.read_time(query, space.zone, EVER)
    listing = _read_page(query, space, cursors, current_time, created_times)
    selection = replace(listing.selection, name=name)
    return replace(listing, selection=selection, row=replace(listing.row, times=True))


def _read_page(
    query: Input, space: Space, cursors: Cursors, current_time: datetime, created: TimeRange
) -> ListContacts:
    clock = filters.DateContext(space.zone, current_time.astimezone(space.zone).date())
    selection = ContactSelection(
        created, _emails(query), filters.read_conditions(query, space.field_labels, clock)
    )
    row = _row(query, space)
    per_page = PER_PAGE.read(query) or 0
    position = cursors.read_from(query)
    query.finish()
    return ListContacts(selection, row, per_page, position)


def read_get_contact(query: Input) -> GetContact:
    """Raise Invalid with every broken rule."""
    selection = GetContact(
        labels=LABELS.read(query) == 1,
        trk_tokens=TRK_TOKENS.read(query) == 1,
        events=EVENTS.read(query) == 1,
        direct_touchpoints=HIDE_DIRECT.read(query) == 0,
        hits=HITS.read(query) == 1,
    )
    query.finish()
    return selection


def read_email(query: Input, in_path: str = "") -> str:
    """Return the trimmed, lower-case address in a path or a query. The query records errors."""
    if not in_path.strip():
        return EMAIL.read(query) or ""
    if not all(map(is_blank, query.several(EMAIL.name))):
        query.refuse(EMAIL.name, "must be given in the path or in the query, not in both.")
    return query.read(EMAIL.name, EMAIL.kind, in_path) or ""


def _addresses(query: Input) -> list[str]:
    """Read addresses from commas and repeated parameters. Blank parameters are ignored; one of only commas is
    kept, to be refused.
    """
    addresses: list[str] = []
    for value in query.several(EMAIL.name):
        text = query.read(EMAIL.name, TEXT, value) or ""
        if len(text) > MAX_EMAILS * LONGEST_EMAIL:
            query.refuse(EMAIL.name, f"must not have more than {MAX_EMAILS} addresses.")
            return []
        parts = [address for address in split_at_commas(text) if address.strip()]
        addresses += parts or ([text] if text.strip() else [])
    return addresses


def split_at_commas(text: str) -> Iterator[str]:
    """Split at commas outside quoted local parts. An unclosed quotation mark is an ordinary
    character.
    """
    start = index = 0
    can_close = True
    while mark := _COMMA_OR_QUOTE.search(text, index):
        index = mark.end()
        if mark[0] == ",":
            yield text[start : mark.start()]
            start = index
        elif can_close:
            closing = _find_closing_quote(text, index)
            can_close = closing is not None
            index = closing or index
    yield text[start:]


def _find_closing_quote(text: str, index: int) -> int | None:
    """Return the end of a quotation that starts before `index`; None if it isn't closed."""
    while mark := _ESCAPE_OR_QUOTE.search(text, index):
        index = mark.end()
        if mark[0] == '"':
            return index
    return None


def _emails(query: Input) -> tuple[str, ...]:
    texts = _addresses(query)
    if query.texts(EMAIL.name) and not texts:
        query.refuse(EMAIL.name, "must not be blank.")
    if len(texts) > MAX_EMAILS:
        query.refuse(EMAIL.name, f"must not have more than {MAX_EMAILS} addresses.")
        return ()
    try:
        return tuple({parse_written_email(text): None for text in texts})
    except ValueError as error:
        query.refuse(EMAIL.name, str(error))
        return ()


def _row(query: Input, space: Space) -> ContactRow:
    trk_tokens, emails, fields, labels = (
        flag.read(query) == 1 for flag in (TRK_TOKENS, ALL_EMAILS, CUSTOM_FIELDS, LABELS)
    )
    names = field_names(space.field_labels if labels else {}, ROW_FIELDS)
    return ContactRow(trk_tokens, emails, names if fields else None)
