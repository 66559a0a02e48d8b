"""The parameters of the operations that read contacts: defined once, for reading and for the
API's description.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from headwater.contacts import filters
from headwater.contacts.field_labels import shown_names
from headwater.contacts.models import ContactRow, ContactSelection, GetContact, ListContacts
from headwater.contacts.schemas import ROW_FIELDS
from headwater.http.pagination import CURSOR, Cursors
from headwater.http.parameters import Parameter, ParameterType, Query, one_of, whole_number
from headwater.http.timerange import EVER, MOMENT_SCHEMA, TimeRange, between, parse_moment
from headwater.identity.emails import LONGEST_EMAIL, parse_written_email
from headwater.spaces.models import Space

MOST_EMAILS = 100

_MOMENT = ParameterType(MOMENT_SCHEMA, parse_moment)
_FLAG = one_of((0, 1))
_COMMA_OR_QUOTE = re.compile('[,"]')
_ESCAPE_OR_QUOTE = re.compile(r'\\.|"', re.DOTALL)

EMAIL = Parameter(
    name="email",
    kind=ParameterType({"type": "string", "pattern": "@"}, parse_written_email),
    required=True,
    description="The address to look for, exact but for case and blanks around it.",
)
EMAILS: dict[str, Any] = {
    "name": "email", "in": "query", "required": False,
    "description": (
        "Only contacts with one of these addresses, be it the primary, another one or that of a "
        "merged contact: one address, several with commas between, or the parameter repeated as "
        f"`email=` or `email[]=`; at most {MOST_EMAILS} in all."
    ),
    "style": "form", "explode": True,
    "schema": {"type": "array", "items": {"type": "string"}, "maxItems": MOST_EMAILS},
}  # fmt: skip
EMAILS_ARGUMENT: dict[str, Any] = {
    EMAILS["name"]: {
        **EMAILS["schema"],
        "description": "Only contacts with one of these addresses.",
    }
}
"""The same as a member of a JSON body."""
START_DATE = Parameter(
    name="start_date", kind=_MOMENT,
    description=(
        "Only contacts created from this second on, on the clock of the Space's time zone. "
        "Required with `end_date`, and without `email`."
    ),
)  # fmt: skip
END_DATE = Parameter(
    name="end_date", kind=_MOMENT,
    description=(
        "Only contacts created up to this second, included; later than `start_date`. Required "
        "with `start_date`, and without `email`."
    ),
)  # fmt: skip
PER_PAGE = Parameter(
    name="per_page", kind=whole_number(1, 5000), default=200,
    description="How many rows a page has at most.",
)  # fmt: skip
TRK_TOKENS = Parameter(
    name="include_trk_tokens", kind=_FLAG, default=0,
    description="1 adds `trk_tokens`, the last five, most recent first.",
)  # fmt: skip
ALL_EMAILS = Parameter(
    name="include_all_emails", kind=_FLAG, default=0,
    description="1 adds `emails`: every address, the primary one first, then most recent first.",
)  # fmt: skip
CUSTOM_FIELDS = Parameter(
    name="include_custom_fields", kind=_FLAG, default=0,
    description="1 adds `profile_field_1` to `profile_field_30`, null where unset.",
)  # fmt: skip
LABELS = Parameter(
    name="use_custom_field_labels", kind=_FLAG, default=0,
    description="1 shows fields under their labels, where these are no other member's name.",
)  # fmt: skip
EVENTS = Parameter(
    name="include_events", kind=_FLAG, default=0,
    description="1 adds `events`: all conversions and touchpoints, most recent first.",
)  # fmt: skip
HIDE_DIRECT = Parameter(
    name="hide_direct_touchpoints", kind=_FLAG, default=1,
    description="1 leaves direct touchpoints out of `events`, 0 shows them.",
)  # fmt: skip
HITS = Parameter(
    name="include_browsing_session_data", kind=_FLAG, default=0,
    description="1 adds `browsing_session_hits`, the last 1,000, most recent first.",
)  # fmt: skip

DOCUMENTATION_OF_LIST = [
    EMAILS,
    START_DATE.openapi(),
    END_DATE.openapi(),
    PER_PAGE.openapi(),
    CURSOR.openapi(),
    TRK_TOKENS.openapi(),
    ALL_EMAILS.openapi(),
    CUSTOM_FIELDS.openapi(),
    LABELS.openapi(),
    filters.DOCUMENTATION,
]
DOCUMENTATION_OF_GET = [
    each.openapi() for each in (TRK_TOKENS, EVENTS, HIDE_DIRECT, LABELS, HITS)
]  # fmt: skip
DOCUMENTATION_OF_FIND = [EMAIL.openapi(), *DOCUMENTATION_OF_GET]


def cursors(query: Query, signing_key: bytes, space_id: int) -> Cursors:
    """The cursors of the list a query asks for, in whichever form it names the addresses."""
    emails = sorted({text.strip().lower() for text in _addresses(query)})
    created = [query.values(each.name) for each in (START_DATE, END_DATE)]
    conditions = list(query.objects(filters.PARAMETER).values())
    return Cursors(signing_key, space_id, "/contacts", [emails, created, conditions])


def read_list_contacts(query: Query, space: Space, cursors: Cursors, now: datetime) -> ListContacts:
    """The page a query asks for. Raises Invalid with every rule it breaks."""
    clock = filters.DateContext(space.zone, now.astimezone(space.zone).date())
    selection = ContactSelection(
        _created(query, space),
        _emails(query),
        filters.read_conditions(query, space.field_labels, clock),
    )
    row = _row(query, space)
    per_page = PER_PAGE.read(query) or 0
    at = cursors.read_from(query)
    query.finish()
    return ListContacts(selection, row, per_page, at)


def read_get_contact(query: Query) -> GetContact:
    """What a query wants to see of a contact. Raises Invalid with every rule it breaks."""
    asked = GetContact(
        labels=LABELS.read(query) == 1,
        trk_tokens=TRK_TOKENS.read(query) == 1,
        events=EVENTS.read(query) == 1,
        direct_touchpoints=HIDE_DIRECT.read(query) == 0,
        hits=HITS.read(query) == 1,
    )
    query.finish()
    return asked


def read_email(query: Query, in_path: str = "") -> str:
    """The one address, trimmed and lower-case, that a path or a query names; what is wrong with
    it is noted in the query, for the reader of the rest to raise.
    """
    if not in_path.strip():
        return EMAIL.read(query) or ""
    if any(text.strip() for text in query.many(EMAIL.name)):
        query.refuse(EMAIL.name, "must be given in the path or in the query, not in both.")
    try:
        return parse_written_email(in_path)
    except ValueError as error:
        query.refuse(EMAIL.name, str(error))
        return ""


def _addresses(query: Query) -> list[str]:
    """What stands between commas and in repeated parameters. A blank parameter has none,
    but one that is nothing but commas is kept, to be refused.
    """
    found: list[str] = []
    for text in query.many("email"):
        if len(text) > MOST_EMAILS * LONGEST_EMAIL:
            query.refuse("email", f"must not have more than {MOST_EMAILS} addresses.")
            return []
        parts = [part for part in split_at_commas(text) if part.strip()]
        found += parts or ([text] if text.strip() else [])
    return found


def split_at_commas(text: str) -> Iterator[str]:
    """The parts between commas. A quoted local part may hold commas of its own; a quotation mark
    that nothing closes is a character like any other.
    """
    begin = at = 0
    can_close = True
    while mark := _COMMA_OR_QUOTE.search(text, at):
        at = mark.end()
        if mark[0] == ",":
            yield text[begin : mark.start()]
            begin = at
        elif can_close:
            closing = _closing_quote(text, at)
            can_close = closing is not None
            at = closing or at
    yield text[begin:]


def _closing_quote(text: str, at: int) -> int | None:
    """Where the quotation that was opened before `at` is over."""
    while mark := _ESCAPE_OR_QUOTE.search(text, at):
        at = mark.end()
        if mark[0] == '"':
            return at
    return None


def _emails(query: Query) -> tuple[str, ...]:
    texts = _addresses(query)
    if query.values(EMAIL.name) and not texts:
        query.refuse(EMAIL.name, "must not be blank.")
    if len(texts) > MOST_EMAILS:
        query.refuse("email", f"must not have more than {MOST_EMAILS} addresses.")
        return ()
    try:
        return tuple({parse_written_email(text): None for text in texts})
    except ValueError as error:
        query.refuse("email", str(error))
        return ()


def _created(query: Query, space: Space) -> TimeRange:
    start, end = START_DATE.read(query), END_DATE.read(query)
    for one, other in ((START_DATE, END_DATE), (END_DATE, START_DATE)):
        if query.one(one.name) or one.name in query.errors:
            continue
        if query.one(other.name):
            query.refuse(one.name, f"is required with {other.name}.")
        elif not _addresses(query):
            query.refuse(one.name, "is required unless email is given.")
    if start is None or end is None:
        return EVER
    if end <= start:
        query.refuse(END_DATE.name, "must be after start_date.")
    return between(start, end, space.zone)


def _row(query: Query, space: Space) -> ContactRow:
    trk_tokens, emails, fields, labels = (
        each.read(query) == 1 for each in (TRK_TOKENS, ALL_EMAILS, CUSTOM_FIELDS, LABELS)
    )
    names = shown_names(space.field_labels if labels else {}, ROW_FIELDS)
    return ContactRow(trk_tokens, emails, names if fields else None)
