"""The touch that an accepted event or touchpoint carries: its source, its ad and its landing page.
The touches of page views are read in browsing/. Pure.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from headwater.events.accepted import AcceptedEvent
from headwater.events.touchpoints.accepted import AcceptedTouchpoint
from headwater.events.touchpoints.models import Touch
from headwater.sources.classify import explain
from headwater.sources.evidence import UNDECLARED, Landing, SourceParameters
from headwater.sources.hierarchy import ad_at
from headwater.sources.outcomes import Ad, NothingReason, NoTouch, Source
from headwater.sources.parameters import stated
from headwater.sources.resolve import find_return, resolve
from headwater.sources.space_rules import SHIPPED_RULES, SourceRules

_AD_PARAMETERS = ("trk_campaign", "trk_ad_group", "trk_ad_id", "trk_keyword")


def touch_of_event(event: AcceptedEvent, at: int, rules: SourceRules = SHIPPED_RULES) -> Touch | None:
    """The touch that an event at `at` (µs since 1970) carries, if it has any parameter of one, or a
    referrer that would make one on a page, and does not come back from a payment; `rules` are the
    Space's.
    """
    declared = SourceParameters(stated(event.trk_source), stated(event.trk_network), stated(event.trk_type))
    values = ((name, stated(getattr(event, name))) for name in _AD_PARAMETERS)
    present = {name: value for name, value in values if value is not None}
    if not present and declared == UNDECLARED:
        return _touch_of_referrer(event, at, rules)
    if not present and find_return(declared, event.url, rules.exclusions) is not None:
        return None
    source, rule = resolve(declared, event.url, rules.names, rules.exclusions)
    ad = ad_at(event.url, present, source)
    return Touch(at=at, source_id=rules.names.numbers[source], source_rule=rule, ad=ad, url=event.url)


def _touch_of_referrer(event: AcceptedEvent, at: int, rules: SourceRules) -> Touch | None:
    """The touch of an order whose shop tells the page before the visit."""
    if event.referrer is None:
        return None
    return touch_of_landing(Landing(event.url, event.referrer), at, rules)


def touch_of_landing(landing: Landing, at: int, rules: SourceRules) -> Touch | None:
    """The touch of a visit that somebody else reports, by the rules of visits; None for one without
    a source.
    """
    classified = explain(landing, rules.exclusions, rules.names)
    outcome = classified.outcome
    if not isinstance(outcome, Source) or outcome.name == "direct":
        return None
    return Touch(
        at=at,
        source_id=rules.names.numbers[outcome.name],
        source_rule=outcome.rule,
        ad=classified.ad,
        url=landing.url,
        referrer_host=_host(landing.referrer),
    )


def touch_of(touchpoint: AcceptedTouchpoint, at: int, rules: SourceRules = SHIPPED_RULES) -> Touch | NoTouch:
    """The touch that was sent by itself, at `at` (µs since 1970), or the reason why it is none.
    Fields that its ad lacks are read from its URL. `rules` are the Space's.
    """
    landing = Landing(touchpoint.url, touchpoint.referrer, SourceParameters(touchpoint.source))
    classified = explain(landing, rules.exclusions, rules.names)
    outcome = classified.outcome
    if isinstance(outcome, NoTouch):
        if outcome.reason is not NothingReason.OWN_HOST:
            return outcome
        # Whoever sends a touchpoint knows that a visit began there.
        outcome = Source("direct", outcome.reason.value)
    values = {name: stated(getattr(touchpoint, name)) for name in Ad.__struct_fields__}
    return Touch(
        at=at,
        source_id=rules.names.numbers[outcome.name],
        source_rule=outcome.rule,
        ad=Ad(**values) if any(values.values()) else classified.ad,
        url=touchpoint.url,
        referrer_host=_host(touchpoint.referrer),
    )


def _host(address: str | None) -> str | None:
    """The host of a URL, or of an address that lacks its scheme; None when there is none."""
    if address is None:
        return None
    try:
        return urlsplit(address if "//" in address else f"//{address.strip()}").hostname
    except ValueError:
        return None
