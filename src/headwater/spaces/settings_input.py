"""The settings of a Space that users may change, parsed from text by one table. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache, partial
from importlib.resources import files

from headwater.http.errors import Invalid
from headwater.http.inputs.fields import UNPRINTABLE
from headwater.http.inputs.objects import read_pairs
from headwater.sources.addresses import read_address
from headwater.sources.answers import SELF_REPORTED, normalize_phrase
from headwater.sources.catalogue import SOURCE_IDS
from headwater.sources.source_names import normal_name
from headwater.spaces.currencies import parse_currency
from headwater.spaces.custom_fields import SLOT_NAMES

MAX_TEXT = 255
MAX_IGNORED = 1000
MOST_DAYS = 365
MAX_KEPT_DAYS = 3650
MIN_KEPT_DAYS = 30
"""A page view that a browser reports a week late must find its visit."""
MIN_CONTACT_DAYS = 100
"""The nightly training of models reads the journeys of 90 full days."""
MAX_SOURCE_NAMES = 1000
"""Per Space: they are read with every batch."""
MAX_ANSWER_PHRASES = 200
"""Per Space: each is searched for in every answer."""
CUSTOM_EVENTS = tuple(f"custom_event_{number}" for number in range(1, 51))

Setting = str | int | list[str]


@dataclass(slots=True)
class SpaceChanges:
    """Validated changes to one Space. An empty text or None removes a setting."""

    settings: dict[str, Setting] = field(default_factory=dict[str, Setting])
    """Column of `spaces` to its new value."""
    event_labels: dict[str, str] = field(default_factory=dict[str, str])
    field_labels: dict[str, str] = field(default_factory=dict[str, str])
    source_names: dict[str, str] = field(default_factory=dict[str, str])
    answer_phrases: dict[str, str] = field(default_factory=dict[str, str])
    """Phrase of answers to its self-reported source."""
    limits: dict[str, int | None] = field(default_factory=dict[str, "int | None"])

    @property
    def touch_access(self) -> bool:
        """True if the API's cached callers of this Space are outdated."""
        return "subscription" in self.settings or bool(self.limits)


def read_changes(texts: Mapping[str, str], buckets: Collection[str] = ()) -> SpaceChanges:
    """Read changes from `key: value` texts; `buckets` are the rate limits, for operators. Raises Invalid
    naming every bad key.
    """
    changes = SpaceChanges()
    groups = GROUPS | ({LIMIT: tuple(buckets)} if buckets else {})
    read_pairs(texts, partial(_read_change, changes, groups))
    return changes


def _read_change(changes: SpaceChanges, groups: Mapping[str, tuple[str, ...]], key: str, value: str) -> None:
    if key in SETTINGS:
        changes.settings[key] = SETTINGS[key](value)
        return
    group, dot, name = key.partition(".")
    if dot and group == SOURCE_NAME:
        changes.source_names[_source_name(name)] = _source(value)
        return
    if dot and group == ANSWER_PHRASE:
        changes.answer_phrases[_answer_phrase(name)] = _self_reported(value)
        return
    if not dot or group not in groups:
        raise ValueError(f"no such setting; there are {', '.join(KEYS)}")
    names = groups[group]
    if name not in names and group == LIMIT:
        raise ValueError("no such rate limit; the page on the API lists them by operation")
    if name not in names:
        raise ValueError(f"no such name; there are {names[0]} to {names[-1]}")
    if group == "event_label":
        changes.event_labels[name] = _text(value)
    elif group == "field_label":
        changes.field_labels[name] = _text(value)
    else:
        changes.limits[name] = _limit(value)


def _text(value: str) -> str:
    if len(value) > MAX_TEXT:
        raise ValueError(f"must not be longer than {MAX_TEXT} characters")
    if UNPRINTABLE.search(value):
        raise ValueError("must not hold control characters")
    return value


def read_name(value: str) -> str:
    """Raises Invalid for an unusable name."""
    try:
        return _name(value.strip())
    except ValueError as error:
        raise Invalid({"name": [f"name: {error}"]}) from None


def _name(value: str) -> str:
    if not value:
        raise ValueError("must not be empty")
    return _text(value)


def _timezone(value: str) -> str:
    if value not in zone_names():
        raise ValueError("must be an IANA time zone, such as Europe/Berlin")
    return value


@cache
def zone_names() -> frozenset[str]:
    return frozenset(files("tzdata").joinpath("zones").read_text(encoding="ascii").split())


def _phone_region(value: str) -> str:
    if not re.fullmatch("([A-Z]{2})?", value.upper(), re.ASCII):
        raise ValueError("must be a country code of two letters, such as DE, or empty")
    return value.upper()


def _cost_rate(value: str) -> str:
    if not value:
        return ""
    text = value.removesuffix("%").strip().replace(",", ".")
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,2})?", text, re.ASCII) or Decimal(text) > 100:
        raise ValueError("must be a percentage from 0 to 100, such as 35 or 12.5, or empty")
    return text


def _choose_from(*choices: str, rule: str = "") -> Callable[[str], str]:
    def read(value: str) -> str:
        if value not in choices:
            raise ValueError(rule or f"must be {' or '.join(choices)}")
        return value

    return read


def _ignored(value: str) -> list[str]:
    values = sorted({item.strip() for item in value.split(",")} - {""})
    if len(values) > MAX_IGNORED:
        raise ValueError(f"must not hold more than {MAX_IGNORED} values")
    return [_text(item) for item in values]


def _hosts(value: str) -> list[str]:
    hosts: set[str] = set()
    for item in filter(None, map(str.strip, value.split(","))):
        address = read_address(item)
        if address is None or "." not in address.host:
            raise ValueError(f"{item!r} is no host")
        hosts.add(address.host)
    if len(hosts) > MAX_IGNORED:
        raise ValueError(f"must not hold more than {MAX_IGNORED} hosts")
    return sorted(hosts)


def _source_name(value: str) -> str:
    name = normal_name(_text(value))
    if not name:
        raise ValueError("must not be empty")
    return name


_source = _choose_from("", *SOURCE_IDS, rule="must be a listed source, such as facebook_ads, or empty")


def _answer_phrase(value: str) -> str:
    phrase = normalize_phrase(_text(value))
    if not phrase:
        raise ValueError("must have a letter or a digit")
    return phrase


_self_reported = _choose_from(
    "", *SELF_REPORTED, rule="must be a self-reported source, such as podcast, or empty"
)


def _limit(value: str) -> int | None:
    if not value:
        return None
    if not re.fullmatch("[0-9]{1,9}", value, re.ASCII):
        raise ValueError("must be a whole number of requests a minute, or empty")
    return int(value)


def _half_life(value: str) -> int:
    if not re.fullmatch("[0-9]{1,3}", value, re.ASCII) or not 1 <= int(value) <= MOST_DAYS:
        raise ValueError(f"must be a whole number of days from 1 to {MOST_DAYS}")
    return int(value)


def _kept_days(least_days: int = MIN_KEPT_DAYS) -> Callable[[str], str]:
    def read(value: str) -> str:
        is_number = re.fullmatch("[0-9]{1,4}", value, re.ASCII)
        if value and (not is_number or not least_days <= int(value) <= MAX_KEPT_DAYS):
            raise ValueError(f"must be a whole number of days from {least_days} to {MAX_KEPT_DAYS}, or empty")
        return value

    return read


def _yes_or_no(value: str) -> bool:
    if value not in ("true", "false"):
        raise ValueError("must be true or false")
    return value == "true"


SETTINGS: dict[str, Callable[[str], Setting]] = {
    "name": _name,
    "timezone": _timezone,
    "currency": parse_currency,
    "company_identity_mode": _choose_from("auto", "external_id"),
    "subscription": _choose_from("active", "inactive"),
    "phone_region": _phone_region,
    "ignored_identifiers": _ignored,
    "own_domains": _hosts,
    "excluded_referrers": _hosts,
    "heeded_referrers": _hosts,
    "ad_consent": _choose_from("granted", "denied", "unknown"),
    "half_life_days": _half_life,
    "cost_rate": _cost_rate,
    "page_view_days": _kept_days(),
    "inactive_contact_days": _kept_days(MIN_CONTACT_DAYS),
    "delivery_days": _kept_days(),
    "log_days": _kept_days(),
    "require_second_factor": _yes_or_no,
}
GROUPS: dict[str, tuple[str, ...]] = {"event_label": CUSTOM_EVENTS, "field_label": SLOT_NAMES}
SOURCE_NAME = "source_name"
ANSWER_PHRASE = "heard_about_us"
LIMIT = "limit"
KEYS = (
    *SETTINGS,
    "event_label.custom_event_<N>",
    "field_label.profile_field_<N>",
    f"{SOURCE_NAME}.<utm_source>",
    f"{ANSWER_PHRASE}.<phrase>",
    f"{LIMIT}.<bucket>",
)
