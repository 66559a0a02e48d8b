"""The parameters that choose rows of the ledger, to list or to delete them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from headwater.http.inputs.date_range import date_range
from headwater.http.inputs.fields import BOOLEAN, FieldType, written
from headwater.http.inputs.pagination import CURSOR, Cursors, Position, page_size
from headwater.http.inputs.parameters import Input, Parameter
from headwater.http.inputs.timerange import parse_day
from headwater.sources.ad_platforms import platform_of
from headwater.spaces.currencies import parse_currency
from headwater.spend.inputs import DAY_SCHEMA, LONGEST, LONGEST_PLATFORM

_DAY = written(
    {"type": "string", "pattern": f"^$|{DAY_SCHEMA['pattern']}"},
    lambda text: datetime.combine(parse_day(text), time()),
)


def _text(longest: int, read: Callable[[str], str] = str) -> FieldType[str]:
    """A text of at most so many characters, and what is read of it."""

    def parse(text: str) -> str:
        if len(text) > longest:
            raise ValueError(f"must be at most {longest} characters.")
        return read(text)

    return written({"type": "string", "maxLength": longest}, parse)


START, END = date_range("The first day.", "The last day, included.", kind=_DAY).parameters
PLATFORM = Parameter(
    name="platform", kind=_text(LONGEST_PLATFORM, platform_of), description="Only of this platform."
)
ACCOUNT = Parameter(name="account_id", kind=_text(LONGEST), description="Only of this account.")
CAMPAIGN = Parameter(name="campaign_id", kind=_text(LONGEST), description="Only of this campaign.")
CURRENCY = Parameter(
    name="currency",
    kind=written({"type": "string", "pattern": "^$|^[A-Za-z]{3}$"}, parse_currency),
    description="Only in this currency.",
)
PREVIEW = Parameter(
    name="preview", kind=BOOLEAN, default=False, description="Only count what would be deleted."
)
CHOICE = (START, END, PLATFORM, ACCOUNT, CAMPAIGN, CURRENCY)
PER_PAGE = page_size(1000)


@dataclass(frozen=True)
class SpendChoice:
    """The rows that a request is about: all that meet every condition."""

    first_day: date = date.min
    last_day: date = date.max
    platform: str | None = None
    account_id: str | None = None
    campaign_id: str | None = None
    currency: str | None = None

    def bound(self, space_id: int) -> dict[str, Any]:
        """Return the values that statements bind."""
        return {
            "space_id": space_id,
            "first_day": self.first_day,
            "last_day": self.last_day,
            "platform": self.platform,
            "account_id": self.account_id,
            "campaign_id": self.campaign_id,
            "currency": self.currency,
        }


def read_choice(query: Input, *, whole: bool) -> SpendChoice:
    """Read which rows are meant; unless `whole`, both days are required. What is wrong is noted in
    the query.
    """
    days = [parameter.read(query) for parameter in (START, END)]
    for parameter, day in zip((START, END), days, strict=True):
        if day is None and not whole and parameter.name not in query.errors:
            query.refuse(parameter.name, "is required.")
    first = days[0].date() if days[0] else date.min
    last = days[1].date() if days[1] else date.max
    if last < first:
        query.refuse(END.name, f"must not be before {START.name}.")
    return SpendChoice(
        first, last, PLATFORM.read(query), ACCOUNT.read(query), CAMPAIGN.read(query), CURRENCY.read(query)
    )


def cursors(query: Input, signing_key: bytes, space_id: int) -> Cursors:
    """The cursors of the list, bound to what is chosen."""
    chosen = [query.texts(parameter.name) for parameter in CHOICE]
    return Cursors(signing_key, space_id, "/spend", chosen)


def read_list(query: Input, cursors: Cursors) -> tuple[SpendChoice, int, Position | None]:
    """Read which rows are listed, how many a page has, and where it begins. Raises Invalid."""
    choice = read_choice(query, whole=True)
    per_page = PER_PAGE.read(query) or 0
    at = cursors.read_from(query)
    query.finish()
    return choice, per_page, at


LISTING = [parameter.openapi() for parameter in (*CHOICE, PER_PAGE, CURSOR)]
DELETING = [
    *({**parameter.openapi(), "required": True} for parameter in (START, END)),
    *(parameter.openapi() for parameter in (PLATFORM, ACCOUNT, CAMPAIGN, CURRENCY, PREVIEW)),
]
