"""The touch that an accepted event or touchpoint carries: its source, its ad and its landing page.
The touches of page views are read in browsing/. Pure.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from headwater.events.accepted import AcceptedEvent
from headwater.sources.addresses import read_address
from headwater.sources.catalogue import SOURCE_IDS
from headwater.sources.classify import explain
from headwater.sources.evidence import Landing, SourceParameters
from headwater.sources.exclusions import SHIPPED, Exclusions
from headwater.sources.hierarchy import ad_at
from headwater.sources.outcomes import Ad, Source
from headwater.sources.resolve import resolve
from headwater.sources.source_names import SHIPPED_ALONE, SourceNames
from headwater.touchpoints.accepted import AcceptedTouchpoint
from headwater.touchpoints.models import Touch

_AD_PARAMETERS = ("trk_campaign", "trk_ad_group", "trk_ad_id", "trk_keyword")


def touch_of_event(
    event: AcceptedEvent,
    at: int,
    names: SourceNames = SHIPPED_ALONE,
    exclusions: Exclusions = SHIPPED,
) -> Touch | None:
    """The touch that an event at `at` (µs since 1970) carries, if it has any parameter of one, or a
    referrer that would make one on a page; `names` and `exclusions` are the Space's own.
    """
    if _names_excluded_host(event, exclusions):
        return None
    if not (
        event.trk_source
        or event.trk_network
        or event.trk_campaign
        or event.trk_ad_group
        or event.trk_ad_id
        or event.trk_keyword
        or event.trk_type
    ):
        return _touch_of_referrer(event, at, names, exclusions)
    parameters = SourceParameters(event.trk_source, event.trk_network, event.trk_type)
    source, rule = resolve(parameters, event.url, names)
    named = {name: getattr(event, name) for name in _AD_PARAMETERS}
    present = {name: value for name, value in named.items() if value is not None}
    ad = ad_at(event.url, present, source)
    return Touch(at=at, source_id=SOURCE_IDS[source], source_rule=rule, ad=ad, url=event.url)


def _names_excluded_host(event: AcceptedEvent, exclusions: Exclusions) -> bool:
    """Return whether an event names as its source nothing but a host that never is one, such as the
    payment page that the buyer came back from.
    """
    source = event.trk_source
    if source is None or "." not in source or any(getattr(event, n) for n in _AD_PARAMETERS):
        return False
    if event.trk_network or event.trk_type not in (None, "referral"):
        return False
    host = read_address(source)
    return host is not None and exclusions.find(host, read_address(event.url)) is not None


def _touch_of_referrer(
    event: AcceptedEvent, at: int, names: SourceNames, exclusions: Exclusions
) -> Touch | None:
    """The touch of an order whose shop tells the page before the visit, by the rules of visits."""
    if event.referrer is None:
        return None
    classified = explain(Landing(event.url, event.referrer), exclusions, names)
    outcome = classified.outcome
    if not isinstance(outcome, Source) or outcome.name == "direct":
        return None
    return Touch(
        at=at,
        source_id=SOURCE_IDS[outcome.name],
        source_rule=outcome.rule,
        ad=classified.ad,
        url=event.url,
        referrer_host=_host(event.referrer),
    )


def touch_of(
    touchpoint: AcceptedTouchpoint, at: int, own_names: SourceNames = SHIPPED_ALONE
) -> Touch:
    """The touch that was sent by itself, at `at` (µs since 1970). Fields that its ad lacks are read
    from its URL. It always makes a touch: where a visit would make none, it is direct. `own_names`
    are the Space's names of sources.
    """
    parameters = SourceParameters(touchpoint.source)
    classified = explain(
        Landing(touchpoint.url, touchpoint.referrer, parameters), SHIPPED, own_names
    )
    source, rule = (
        (classified.outcome.name, classified.outcome.rule)
        if isinstance(classified.outcome, Source)
        else ("direct", classified.outcome.reason.value)
    )
    names = {name: getattr(touchpoint, name) for name in Ad.__struct_fields__}
    return Touch(
        at=at,
        source_id=SOURCE_IDS[source],
        source_rule=rule,
        ad=Ad(**names) if any(names.values()) else classified.ad,
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
