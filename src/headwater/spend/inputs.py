"""The body that stores spend."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from functools import lru_cache
from typing import Any

from msgspec import Struct

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
from headwater.sources.ad_platforms import normalize_account, normalize_platform
from headwater.sources.source_names import SourceNames
from headwater.spaces.currencies import parse_currency
from headwater.spaces.known_values import refuse_platform
from headwater.spaces.settings_input import zone_names
from headwater.spend.models import SpendRow

MAX_ROWS = 5000
MAX_LENGTH = 512
MAX_PLATFORM_LENGTH = 64
MAX_NUMBER = Decimal(10) ** 12
"""Of amounts and counts."""
STEP = Decimal("0.000001")
"""Platforms bill in millionths of a currency unit."""
FIRST_YEAR = 2000
_EARLIEST = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC).timestamp()
_MAX_AHEAD = timedelta(hours=24)


DAY_SCHEMA: Schema = {"type": "string", "format": "date", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}


@lru_cache(4096)  # a report has few days, repeated in many rows
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
    return _filled(normalize_platform(_filled(text)))


def _parse_country(text: str | None) -> str:
    code = (text or "").upper()
    if not re.fullmatch("([A-Z]{2})?", code, re.ASCII):
        raise ValueError("must be a country code of two letters, such as DE.")
    return code


def parse_zone(text: str | None) -> str | None:
    """Check an ad account's time zone. Raises ValueError."""
    if text is not None and text not in zone_names():
        raise ValueError("must be an IANA time zone, such as Europe/Berlin.")
    return text


def _round(value: Decimal) -> Decimal:
    if not 0 <= value <= MAX_NUMBER:
        raise ValueError(f"must be from 0 to {MAX_NUMBER:f}.")
    return value.quantize(STEP, ROUND_HALF_EVEN)


def _bounded(value: int) -> int:
    if value < 0:
        raise ValueError("must not be below 0.")
    return value


DAY = written(DAY_SCHEMA, _parse_day).documented(**DAY_SCHEMA)
_ID = (
    text_up_to(MAX_LENGTH, trim=True, integers=True)
    .or_none()
    .then(lambda text: text or "")
    .documented(anyOf=[{"type": "string", "maxLength": MAX_LENGTH}, {"type": "integer"}, {"type": "null"}])
)
_NAME = text_up_to(MAX_LENGTH, trim=True).or_none()
_NUMBER_SCHEMA: Schema = {
    "anyOf": [{"type": "number", "minimum": 0, "maximum": float(MAX_NUMBER)}, number_text(NUMBER)]
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
CURRENCY = written({"type": "string", "pattern": r"^\s*[A-Za-z]{3}\s*$"}, parse_currency)
_ZONE = text_up_to(64, trim=True).or_none().then(parse_zone)
_COUNTRY = (
    text_up_to(2, trim=True, rule="must be a country code of two letters, such as DE.")
    .or_none()
    .then(_parse_country)
    .documented(type=["string", "null"], pattern=r"^([A-Za-z]{2})?$")
)
_PLATFORM = (
    text_up_to(MAX_PLATFORM_LENGTH, trim=True)
    .then(_parse_platform)
    .documented(type="string", pattern=r"[A-Za-z0-9]", maxLength=MAX_PLATFORM_LENGTH)
)

NAME_FIELDS = {"campaign_name": "campaign", "adset_name": "adset", "ad_name": "ad"}
"""Fields with the name of an id, and the id's kind."""
FIELDS: dict[str, Property] = {
    "date": Property(DAY, "The day in the ad account's time zone.", missing=REQUIRED),
    "platform": Property(
        _PLATFORM, "google, meta, tiktok, microsoft, … or a network you added.", missing=REQUIRED
    ),
    "account_id": Property(_ID, "Google's dashes and Meta's act_ are left out."),
    "campaign_id": Property(_ID, "As in touchpoints; omit for all campaigns."),
    "adset_id": Property(_ID),
    "ad_id": Property(_ID),
    "campaign_name": Property(_NAME, "Stored in the ad catalogue, like the other names."),
    "adset_name": Property(_NAME),
    "ad_name": Property(_NAME),
    "country": Property(_COUNTRY, "Two letters; omit for all countries."),
    "amount": Property(_AMOUNT, "Up to six decimals.", missing=REQUIRED),
    "currency": Property(CURRENCY, missing=REQUIRED),
    "impressions": Property(_COUNT),
    "clicks": Property(_COUNT),
    "platform_conversions": Property(_FIGURE, "As counted by the platform."),
    "platform_revenue": Property(_FIGURE, "As counted by the platform, in the row's currency."),
    "timezone": Property(_ZONE, "The ad account's time zone."),
}


def build_row(values: dict[str, Any], **other_values: Any) -> SpendRow:
    """Build a row from field values. Raises ValueError if a coarser id is missing."""
    names: list[tuple[str, str, str]] = []
    for field, kind in NAME_FIELDS.items():
        name = values.pop(field, None)
        if name:
            # Without an id the name is used instead, like in touchpoints.
            ad_id = values[f"{kind}_id"] = values.get(f"{kind}_id") or name
            if ad_id != name:
                names.append((kind, ad_id, name))
    for finer in ("adset_id", "ad_id"):
        if values.get(finer) and not values.get("campaign_id"):
            raise ValueError(f"must have a campaign_id, because it has an {finer}.")
    filled = {name: value for name, value in values.items() if value is not None}
    filled["account_id"] = normalize_account(filled.get("account_id", ""))
    return SpendRow(**filled, names=tuple(names), **other_values)


ROW: FieldType[SpendRow] = object_of(FIELDS).then(build_row)
_NO_ARRAY = "must be an array of rows."
BODY = object_of(
    {
        "spend": Property(
            array_of(
                ROW, MAX_ROWS, min_items=1, rule=_NO_ARRAY, count_rule=f"must hold 1 to {MAX_ROWS} rows."
            ),
            "All rows are stored, or none. If a key is repeated, the last row wins.",
            missing=_NO_ARRAY,
        ),
        "as_of": Property(
            written(ISO_SCHEMA, parse_iso).or_none(),
            "When the platforms reported these figures; defaults to now. The latest report of a key "
            "wins, regardless of the order of arrival.",
        ),
    }
)


class SpendReport(Struct, frozen=True):
    rows: tuple[SpendRow, ...]
    as_of: datetime


def read_spend(body: dict[str, Any], current_time: datetime, sources: SourceNames) -> SpendReport:
    """Parse the rows in a body. Raises Invalid with every invalid field. `sources` are the Space's."""
    values = parse_body(BODY, body)
    rules = {
        f"spend.{index}.platform": [f"The spend.{index}.platform {rule}"]
        for index, row in enumerate(values["spend"])
        if (rule := refuse_platform(row.platform, sources)) is not None
    }
    if rules:
        raise Invalid(rules)
    as_of = values.get("as_of")
    return SpendReport(
        values["spend"], current_time if as_of is None else parse_report_time(as_of, current_time)
    )


def parse_report_time(seconds: float, current_time: datetime) -> datetime:
    """Parse the time of a report, in seconds since 1970. Raises Invalid before 2000 or more than 24 hours
    ahead.
    """
    if seconds < _EARLIEST:
        raise Invalid.of("as_of", f"must not be before {FIRST_YEAR}.")
    if seconds > (current_time + _MAX_AHEAD).timestamp():
        raise Invalid.of("as_of", "must not be more than 24 hours ahead.")
    return datetime.fromtimestamp(seconds, UTC)


def read_row(values: dict[str, Any]) -> SpendRow:
    """Parse one row. Raises Invalid with every invalid field."""
    return parse_body(ROW, values)
