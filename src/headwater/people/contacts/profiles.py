"""A contact's row during a batch: primary values, profile fields, company and path sources. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from headwater.people.companies.assignment import Company
from headwater.people.identity.directory import Contact
from headwater.spaces.custom_fields import DATE_SLOTS, SLOT_NAMES, SLOTS

DETAILS = ("location", "city", "state", "country", "device_type", "os", "browser", "language", *SLOT_NAMES)
"""The single-valued columns except the primary email, name and phone."""

PRIMARIES = ("email", "name", "phone")
COMPANY = "company_id"

PLACE = ("country", "state", "city")
DEVICE = ("device_type", "os", "browser")

_SLOT_COLUMNS = dict(SLOTS)
_DATE_LENGTH = len("YYYY-MM-DD")


class Profile:
    """A contact's columns. `is_changed` means that the stored row must be written."""

    __slots__ = (
        "company",
        "contact",
        "details",
        "email",
        "filled",
        "has_name_parts",
        "is_changed",
        "name",
        "original_company",
        "phone",
        "source_mask",
    )

    def __init__(self, contact: Contact) -> None:
        self.contact = contact
        self.email: str | None = None
        self.name: str | None = None
        self.phone: str | None = None
        self.details: dict[str, str] = {}
        self.company: Company | None = None
        self.original_company: Company | None = None
        self.source_mask = 0
        self.filled: tuple[str, ...] = ()
        """For a merged contact: its survivor's columns filled with its values."""
        self.has_name_parts = False
        """Whether a name is stored with parts other than the derived ones."""
        self.is_changed = contact.is_new

    def set_if_empty(self, email: str | None, name: str | None, phone: str | None) -> None:
        if self.email is None and email is not None:
            self.email, self.is_changed = email, True
        if self.name is None and name is not None:
            self.name, self.is_changed = name, True
        if self.phone is None and phone is not None:
            self.phone, self.is_changed = phone, True

    def set_fields(self, fields: dict[int, str], zone: ZoneInfo, *, replace: bool = True) -> None:
        """Overwrite filled fields, unless `replace` is false."""
        for slot, value in fields.items():
            column = _SLOT_COLUMNS[slot]
            if not replace and column in self.details:
                continue
            stored_value = to_instant(value, zone) if slot in DATE_SLOTS else value
            if self.details.get(column) != stored_value:
                self.details[column] = stored_value
                self.is_changed = True

    def fill_group(self, columns: tuple[str, ...], record: object) -> None:
        """Fill empty columns from `record`, unless a filled one differs: Paris, Texas, France must not be
        combined.
        """
        values = {column: getattr(record, column) for column in columns}
        details = self.details
        if any(details.get(column, value) != value for column, value in values.items() if value):
            return
        for column, value in values.items():
            if value and column not in details:
                details[column] = value
                self.is_changed = True

    def set_location_if_empty(self, location: str) -> None:
        if "location" not in self.details:
            self.details["location"] = location
            self.is_changed = True

    def fill_from(self, source: Profile) -> None:
        primaries = [
            column
            for column in PRIMARIES
            if getattr(self, column) is None and getattr(source, column) is not None
        ]
        self.set_if_empty(source.email, source.name, source.phone)
        details = [column for column in DETAILS if column in source.details and column not in self.details]
        for column in details:
            self.details[column] = source.details[column]
        source.filled = (*primaries, *details)
        self.is_changed |= bool(source.filled)
        source.is_changed = True

    def join_company(self, source: Profile) -> None:
        """Take over a merged contact's company, if missing."""
        if self.company is None and source.company is not None:
            self.company = source.company
            source.filled += (COMPANY,)


def to_instant(value: str, zone: ZoneInfo) -> str:
    """Convert a date slot's value; a day becomes its first moment in `zone`."""
    if len(value) != _DATE_LENGTH:
        return value
    offset = datetime.fromisoformat(value).replace(tzinfo=zone).strftime("%z")
    seconds = offset[5:7] or "00"
    return f"{value}T00:00:00{offset[:3]}:{offset[3:5]}:{seconds}"


def format_date(value: str, zone: ZoneInfo) -> str:
    """Return the day if the value is its first moment in `zone`, otherwise the instant in UTC."""
    moment = datetime.fromisoformat(to_instant(value, zone))
    try:
        day = moment.astimezone(zone).date().isoformat()
    except OverflowError:  # at either end of the calendar
        day = moment.date().isoformat()
    if moment == datetime.fromisoformat(to_instant(day, zone)):
        return day
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z").replace(".000Z", "Z")
