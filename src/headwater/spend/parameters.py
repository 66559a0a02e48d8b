"""The parameters that select rows of the ledger to list or delete."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any

from msgspec import Struct

from headwater.http.inputs.date_range import date_range
from headwater.http.inputs.fields import BOOLEAN, FieldType, written
from headwater.http.inputs.pagination import CURSOR, PER_PAGE, Cursors, Position, read_page
from headwater.http.inputs.parameters import Input, Parameter
from headwater.http.inputs.timerange import parse_day
from headwater.sources.ad_platforms import normalize_account, normalize_platform
from headwater.spaces.currencies import parse_currency
from headwater.spend.inputs import DAY_SCHEMA, MAX_LENGTH, MAX_PLATFORM_LENGTH

_DAY = written(
    {"type": "string", "pattern": f"^$|{DAY_SCHEMA['pattern']}"},
    lambda text: datetime.combine(parse_day(text), time()),
)


def _text(max_length: int, parse: Callable[[str], str] = str) -> FieldType[str]:
    def parse_short(text: str) -> str:
        if len(text) > max_length:
            raise ValueError(f"must be at most {max_length} characters.")
        return parse(text)

    return written({"type": "string", "maxLength": max_length}, parse_short)


START, END = date_range("The first day.", "The last day, inclusive.", kind=_DAY).parameters
PLATFORM = Parameter(
    name="platform", kind=_text(MAX_PLATFORM_LENGTH, normalize_platform), description="Only this platform."
)
ACCOUNT = Parameter(
    name="account_id", kind=_text(MAX_LENGTH, normalize_account), description="Only this account."
)
CAMPAIGN = Parameter(name="campaign_id", kind=_text(MAX_LENGTH), description="Only this campaign.")
CURRENCY = Parameter(
    name="currency",
    kind=written({"type": "string", "pattern": "^$|^[A-Za-z]{3}$"}, parse_currency),
    description="Only this currency.",
)
PREVIEW = Parameter(
    name="preview", kind=BOOLEAN, default=False, description="Count what would be deleted, without deleting."
)
CHOICE = (START, END, PLATFORM, ACCOUNT, CAMPAIGN, CURRENCY)


class SpendChoice(Struct, frozen=True):
    first_day: date = date.min
    last_day: date = date.max
    platform: str | None = None
    account_id: str | None = None
    campaign_id: str | None = None
    currency: str | None = None

    def bound(self, space_id: int) -> dict[str, Any]:
        return {
            "space_id": space_id,
            "first_day": self.first_day,
            "last_day": self.last_day,
            "platform": self.platform,
            "account_id": self.account_id,
            "campaign_id": self.campaign_id,
            "currency": self.currency,
        }


def read_choice(query: Input, *, days_required: bool) -> SpendChoice:
    """Parse which rows to select. Errors are recorded in the query."""
    days = [parameter.read(query) for parameter in (START, END)]
    for parameter, day in zip((START, END), days, strict=True):
        if day is None and days_required and parameter.name not in query.errors:
            query.refuse(parameter.name, "is required.")
    first = days[0].date() if days[0] else date.min
    last = days[1].date() if days[1] else date.max
    if last < first:
        query.refuse(END.name, f"must not be before {START.name}.")
    return SpendChoice(
        first, last, PLATFORM.read(query), ACCOUNT.read(query), CAMPAIGN.read(query), CURRENCY.read(query)
    )


def cursors(query: Input, signing_key: bytes, space_id: int) -> Cursors:
    conditions = [query.texts(parameter.name) for parameter in CHOICE]
    return Cursors(signing_key, space_id, "/spend", conditions)


def read_list(query: Input, cursors: Cursors) -> tuple[SpendChoice, int, Position | None]:
    """Parse which rows to list, the page size and the position. Raises Invalid."""
    choice = read_choice(query, days_required=False)
    return choice, *read_page(query, cursors)


LISTING = [parameter.openapi() for parameter in (*CHOICE, PER_PAGE, CURSOR)]
DELETING = [
    *({**parameter.openapi(), "required": True} for parameter in (START, END)),
    *(parameter.openapi() for parameter in (PLATFORM, ACCOUNT, CAMPAIGN, CURRENCY, PREVIEW)),
]
