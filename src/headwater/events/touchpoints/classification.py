"""Derive touches of accepted events and touchpoints. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

import msgspec

from headwater.events.accepted import AcceptedEvent
from headwater.events.touchpoints.accepted import AcceptedTouchpoint
from headwater.events.touchpoints.models import Touch
from headwater.sources.classify import explain
from headwater.sources.evidence import UNDECLARED, Landing, SourceParameters
from headwater.sources.hierarchy import read_ad
from headwater.sources.outcomes import Ad, NothingReason, NoTouch, Source
from headwater.sources.parameters import stated
from headwater.sources.resolve import find_return, resolve
from headwater.sources.space_rules import SHIPPED_RULES, SourceRules

_AD_PARAMETERS = ("trk_campaign", "trk_ad_group", "trk_ad_id", "trk_keyword")


def read_event_touch(
    event: AcceptedEvent, occurred_at: int, rules: SourceRules = SHIPPED_RULES
) -> Touch | None:
    """Return the touch of an event at `occurred_at` (µs since 1970), if it has attribution parameters and
    isn't a return from a payment page, or if its landing page and referrer make one for a page view.
    """
    declared = SourceParameters(stated(event.trk_source), stated(event.trk_network), stated(event.trk_type))
    values = ((name, stated(getattr(event, name))) for name in _AD_PARAMETERS)
    ad_values = {name: value for name, value in values if value is not None}
    if event.referrer is not None:
        visit = read_landing_touch(Landing(event.url, event.referrer, declared), occurred_at, rules)
        if visit is not None:
            source = rules.names.get_name(visit.source_id)
            return msgspec.structs.replace(visit, ad=read_ad(event.url, ad_values, source))
    if not ad_values and (
        declared == UNDECLARED or find_return(declared, event.url, rules.exclusions) is not None
    ):
        return None
    source, rule = resolve(declared, event.url, rules.names, rules.exclusions)
    ad = read_ad(event.url, ad_values, source)
    return Touch(
        occurred_at=occurred_at, source_id=rules.names.numbers[source], source_rule=rule, ad=ad, url=event.url
    )


def read_landing_touch(landing: Landing, occurred_at: int, rules: SourceRules) -> Touch | None:
    """Apply the rules of visits to a visit reported by another system."""
    classified = explain(landing, rules.exclusions, rules.names)
    outcome = classified.outcome
    if not isinstance(outcome, Source) or outcome.name == "direct":
        return None
    return Touch(
        occurred_at=occurred_at,
        source_id=rules.names.numbers[outcome.name],
        source_rule=outcome.rule,
        ad=classified.ad,
        url=landing.url,
        referrer_host=_host(landing.referrer),
    )


def read_touch(
    touchpoint: AcceptedTouchpoint, occurred_at: int, rules: SourceRules = SHIPPED_RULES
) -> Touch | NoTouch:
    """Return the touch at `occurred_at` (µs since 1970), or why it doesn't count. Missing ad fields are read
    from its URL.
    """
    landing = Landing(touchpoint.url, touchpoint.referrer, SourceParameters(touchpoint.source))
    classified = explain(landing, rules.exclusions, rules.names)
    outcome = classified.outcome
    if isinstance(outcome, NoTouch):
        if outcome.reason is not NothingReason.OWN_HOST:
            return outcome
        # The sender of a touchpoint knows that a visit began there.
        outcome = Source("direct", outcome.reason.value)
    values = {name: stated(getattr(touchpoint, name)) for name in Ad.__struct_fields__}
    return Touch(
        occurred_at=occurred_at,
        source_id=rules.names.numbers[outcome.name],
        source_rule=outcome.rule,
        ad=Ad(**values) if any(values.values()) else classified.ad,
        url=touchpoint.url,
        referrer_host=_host(touchpoint.referrer),
    )


def _host(address: str | None) -> str | None:
    if address is None:
        return None
    try:
        return urlsplit(address if "//" in address else f"//{address.strip()}").hostname
    except ValueError:
        return None
