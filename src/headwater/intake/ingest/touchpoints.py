"""The payload of a touchpoint that Headwater didn't record itself."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

from headwater.events.touchpoints.accepted import AcceptedTouchpoint
from headwater.http.errors import Errors
from headwater.http.inputs.instants import FORMS
from headwater.http.inputs.suggestions import Names
from headwater.intake.ingest.forms import (
    IDENTIFICATION,
    IDENTIFYING,
    Address,
    Attribution,
    Check,
    Code,
    Form,
    Identification,
    Parser,
    Time,
    code,
    keep_nonblank_texts,
    require_identification,
)
from headwater.intake.ingest.times import parse_event_time
from headwater.sources.catalogue import SOURCE_IDS
from headwater.sources.networks import NAME
from headwater.sources.placeholders import is_placeholder

LONGEST_ID = 512

_SOURCES = Names(SOURCE_IDS)

AD_IDS = ("campaign_id", "adset_id", "ad_id", "account_id")
_PLAIN_TEXT = (
    "trk_token",
    "fingerprint",
    "tracking_id",
    "url",
    "referrer",
    "campaign_name",
    "adset_name",
    "ad_name",
    "account_name",
    "keyword",
)
_ORIGINS = frozenset({"source", "url", "referrer"})


class TouchpointPayload(Identification, frozen=True, kw_only=True):
    occurred_at: Time = None
    source: Attribution = None
    url: Address = None
    referrer: Address = None
    campaign_id: Code = None
    campaign_name: Attribution = None
    adset_id: Code = None
    adset_name: Attribution = None
    ad_id: Code = None
    ad_name: Attribution = None
    account_id: Code = None
    account_name: Attribution = None
    keyword: Attribution = None


def _source(value: str) -> str | None:
    if not value.strip() or is_placeholder(value):
        return None
    source = value.strip().lower()
    if source not in SOURCE_IDS and not NAME.fullmatch(source):
        raise ValueError(_SOURCES.refusal(source))
    return source


def refuse_source(touchpoint: AcceptedTouchpoint, networks: Collection[str]) -> Errors | None:
    """Refuse sources neither built in nor a network of the Space."""
    source = touchpoint.source
    if source is None or source in SOURCE_IDS or source in networks:
        return None
    return {"source": [f"The source {_SOURCES.refusal(source)}"]}


_PARSERS: dict[str, Parser] = {
    **IDENTIFICATION,
    "source": _source,
    **{name: partial(code, longest=LONGEST_ID) for name in AD_IDS},
}


def _normalize(payload: Any, current_time: float, check: Check) -> AcceptedTouchpoint:
    values: dict[str, Any] = keep_nonblank_texts(payload, _PLAIN_TEXT)
    values |= check.present(payload, _PARSERS)
    require_identification(values, check)
    if not (values.keys() & _ORIGINS or "source" in check.errors):
        check.add("source", "is required unless url or referrer is given.")
    occurred_at = check(_occurred_at, "occurred_at", payload.occurred_at, current_time) or 0
    return AcceptedTouchpoint(occurred_at=occurred_at, **values)


def _occurred_at(value: str | float | None, current_time: float) -> int:
    if value is None or (isinstance(value, str) and not value.strip()):
        raise ValueError("is required.")
    return parse_event_time(value, current_time)


_RULES = {
    "occurred_at": FORMS,
    "source": _SOURCES.refusal(""),
    **dict.fromkeys(AD_IDS, "must be a string or an integer."),
}

TOUCHPOINT_FORM = Form(
    TouchpointPayload,
    _normalize,
    _RULES,
    {},
    alternatives=(IDENTIFYING, _ORIGINS, frozenset({"occurred_at"})),
    warns=True,
)
