"""The body that puts spend into the ledger: defined once, for reading and for its description."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from functools import lru_cache
from typing import Any

from headwater.http.errors import Invalid
from headwater.http.inputs.fields import (
    NUMBER,
    REQUIRED,
    FieldType,
    Schema,
    integer,
    number,
    number_text,
    text_up_to,
    written,
)
from headwater.http.inputs.instants import ISO_SCHEMA, parse_iso
from headwater.http.inputs.objects import Property, array_of, object_of, parse_body
from headwater.http.inputs.timerange import parse_day
from headwater.sources.ad_platforms import platform_of
from headwater.sources.source_names import SourceNames
from headwater.spaces.currencies import parse_currency
from headwater.spaces.known_values import refuse_platform
from headwater.spaces.settings_input import zone_names
from headwater.spend.models import SpendRow

MOST_ROWS = 5000
LONGEST = 512
LONGEST_PLATFORM = 64
MOST = Decimal(10) ** 12
"""The bound of amounts and counts."""
STEP = Decimal("0.000001")
"""Platforms charge in millionths of a currency's unit."""
FIRST_YEAR = 2000
_EARLIEST = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC).timestamp()
_LATEST = timedelta(hours=24)

_DAYS_REMEMBERED = 4096
"""A report has few days, each in many rows."""

DAY_SCHEMA: Schema = {"type": "string", "format": "date", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}


@lru_cache(_DAYS_REMEMBERED)
def _parse_day(text: str) -> date:
    day = parse_day(text.strip())
    if not FIRST_YEAR <= day.year < 10_000:
        raise ValueError(f"must not be before {FIRST_YEAR}.")
    return day


def _filled(text: str) -> str:
    if not text:
        raise ValueError("must not be blank.")
    return text


def _parse_platform(text: str) -> str:
    return _filled(platform_of(_filled(text)))


def _parse_country(text: str | None) -> str:
    code = (text or "").upper()
    if not re.fullmatch("([A-Z]{2})?", code, re.ASCII):
        raise ValueError("must be a country code of two letters, such as DE.")
    return code


def parse_zone(text: str | None) -> str | None:
    """The zone of an ad account. Raises ValueError."""
    if text is not None and text not in zone_names():
        raise ValueError("must be an IANA time zone, such as Europe/Berlin.")
    return text


def _round(value: Decimal) -> Decimal:
    if not 0 <= value <= MOST:
        raise ValueError(f"must be from 0 to {MOST:f}.")
    return value.quantize(STEP, ROUND_HALF_EVEN)


def _bounded(value: int) -> int:
    if value < 0:
        raise ValueError("must not be below 0.")
    return value


DAY = written(DAY_SCHEMA, _parse_day).documented(**DAY_SCHEMA)
_ID = (
    text_up_to(LONGEST, trim=True, integers=True)
    .or_none()
    .then(lambda text: text or "")
    .documented(anyOf=[{"type": "string", "maxLength": LONGEST}, {"type": "integer"}, {"type": "null"}])
)
_NAME = text_up_to(LONGEST, trim=True).or_none()
_NUMBER_SCHEMA: Schema = {
    "anyOf": [{"type": "number", "minimum": 0, "maximum": float(MOST)}, number_text(NUMBER)]
}
_AMOUNT = number("must be a number.").then(_round).documented(**_NUMBER_SCHEMA)
_FIGURE = (
    number("must be a number or null.")
    .then(_round)
    .or_none()
    .documented(anyOf=[*_NUMBER_SCHEMA["anyOf"], {"type": "null"}])
)
_COUNT = (
    integer(15).then(_bounded).or_none().documented(type=["integer", "null"], minimum=0, maximum=10**15 - 1)
)
_CURRENCY = written({"type": "string", "pattern": r"^\s*[A-Za-z]{3}\s*$"}, parse_currency)
_ZONE = text_up_to(64, trim=True).or_none().then(parse_zone)
_COUNTRY = (
    text_up_to(2, trim=True, rule="must be a country code of two letters, such as DE.")
    .or_none()
    .then(_parse_country)
    .documented(type=["string", "null"], pattern=r"^([A-Za-z]{2})?$")
)
_PLATFORM = (
    text_up_to(LONGEST_PLATFORM, trim=True)
    .then(_parse_platform)
    .documented(type="string", pattern=r"[A-Za-z0-9]", maxLength=LONGEST_PLATFORM)
)

NAMED = {"campaign_name": "campaign", "adset_name": "adset", "ad_name": "ad"}
"""Fields that name an id: of each the kind."""
FIELDS: dict[str, Property] = {
    "date": Property(DAY, "The day on the ad account's clock.", missing=REQUIRED),
    "platform": Property(
        _PLATFORM, "google, meta, tiktok, microsoft, …, or of a network of your own.", missing=REQUIRED
    ),
    "account_id": Property(_ID),
    "campaign_id": Property(_ID, "As touchpoints have it; left out for all campaigns."),
    "adset_id": Property(_ID),
    "ad_id": Property(_ID),
    "campaign_name": Property(_NAME, "Goes into the ad catalogue, as the other names."),
    "adset_name": Property(_NAME),
    "ad_name": Property(_NAME),
    "country": Property(_COUNTRY, "Two letters; left out for all countries."),
    "amount": Property(_AMOUNT, "To six decimals.", missing=REQUIRED),
    "currency": Property(_CURRENCY, missing=REQUIRED),
    "impressions": Property(_COUNT),
    "clicks": Property(_COUNT),
    "platform_conversions": Property(_FIGURE, "By the platform's own count."),
    "platform_revenue": Property(_FIGURE, "Likewise, in the row's currency."),
    "timezone": Property(_ZONE, "The ad account's zone."),
}


def row_of(values: dict[str, Any], **also: Any) -> SpendRow:
    """The row that the values of fields make. Raises ValueError where a coarser id is missing."""
    named: list[tuple[str, str, str]] = []
    for field, kind in NAMED.items():
        name = values.pop(field, None)
        if name:
            # Without an id the name takes its place, as in touchpoints.
            values[f"{kind}_id"] = values.get(f"{kind}_id") or name
            named.append((kind, values[f"{kind}_id"], name))
    for finer in ("adset_id", "ad_id"):
        if values.get(finer) and not values.get("campaign_id"):
            raise ValueError(f"must have a campaign_id where there is an {finer}.")
    kept = {name: value for name, value in values.items() if value is not None}
    return SpendRow(**kept, names=tuple(each for each in named if each[1] != each[2]), **also)


ROW: FieldType[SpendRow] = object_of(FIELDS).then(row_of)
_NO_ARRAY = "must be an array of rows."
BODY = object_of(
    {
        "spend": Property(
            array_of(ROW, MOST_ROWS, least=1, rule=_NO_ARRAY, count_rule=f"must hold 1 to {MOST_ROWS} rows."),
            "All are stored, or none. Of a key given twice the last counts.",
            missing=_NO_ARRAY,
        ),
        "as_of": Property(
            written(ISO_SCHEMA, parse_iso).or_none(),
            "When the platforms reported this; if left out, now. Of several reports of one key "
            "the latest counts, in whatever order they are sent.",
        ),
    }
)


@dataclass(frozen=True)
class SpendReport:
    """Rows that were reported together."""

    rows: tuple[SpendRow, ...]
    as_of: datetime


def read_spend(body: dict[str, Any], now: datetime, sources: SourceNames) -> SpendReport:
    """The rows that a body of a Space with these sources holds. Raises Invalid, naming every field
    at fault.
    """
    values = parse_body(BODY, body)
    rules = {
        f"spend.{index}.platform": [f"The spend.{index}.platform {rule}"]
        for index, row in enumerate(values["spend"])
        if (rule := refuse_platform(row.platform, sources)) is not None
    }
    if rules:
        raise Invalid(rules)
    as_of = values.get("as_of")
    return SpendReport(values["spend"], now if as_of is None else read_as_of(as_of, now))


def read_as_of(seconds: float, now: datetime) -> datetime:
    """The moment of a report. Raises Invalid for one that is yet to come."""
    if seconds < _EARLIEST:
        raise Invalid.of("as_of", f"must not be before {FIRST_YEAR}.")
    if seconds > (now + _LATEST).timestamp():
        raise Invalid.of("as_of", "must not be more than 24 hours ahead.")
    return datetime.fromtimestamp(seconds, UTC)


def read_row(values: dict[str, Any]) -> SpendRow:
    """The row that an object holds. Raises Invalid, naming every field at fault."""
    return parse_body(ROW, values)
