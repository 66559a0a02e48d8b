"""What there is to tell a visit's source by, read once from its URL, referrer and parameters."""

from __future__ import annotations

import msgspec

from headwater.sources import clicks, hierarchy
from headwater.sources.addresses import read_address, read_parameters
from headwater.sources.exclusions import SHIPPED, Exclusions
from headwater.sources.outcomes import NoTouch
from headwater.sources.vocabulary import REFERRERS, says_paid, target_of


class SourceParameters(msgspec.Struct, frozen=True, gc=False):
    """What somebody says outright of where a visit came from: trk_source, trk_network, trk_type."""

    source: str | None = None
    network: str | None = None
    type: str | None = None


UNSAID = SourceParameters()


class Landing(msgspec.Struct, frozen=True, gc=False):
    """A page that was opened: its URL, the referrer, and what is said besides the URL, which wins
    over the same in the URL.
    """

    url: str | None = None
    referrer: str | None = None
    said: SourceParameters = UNSAID
    stale: frozenset[str] = frozenset()
    """Which of the URL's click ids are of somebody else's click, made long before: such a link was
    passed on, and they tell nothing of this arrival.
    """


class ListedReferrer(msgspec.Struct, frozen=True, gc=False):
    """A referrer that the tables know, by the pattern it fits."""

    target: str
    pattern: str


class OtherReferrer(msgspec.Struct, frozen=True, gc=False):
    """Any other site as the referrer."""

    host: str


class Evidence(msgspec.Struct, frozen=True, gc=False):
    """An arrival, read."""

    given: dict[str, str]
    """The URL's parameters that mean something here."""
    said: SourceParameters
    named: str | None
    """The listed source or platform that utm_source means."""
    paid: bool
    """Whether utm_medium says that somebody paid."""
    referrer: ListedReferrer | OtherReferrer | NoTouch | None


CAMPAIGN = (
    "utm_source", "utm_campaign", "utm_medium", "utm_id", "utm_content", "utm_term",
    "trk_source", "trk_network", "trk_campaign", "trk_ad_group", "trk_ad_id", "trk_keyword",
    "trk_type",
)  # fmt: skip
"""Parameters that only a link made for a campaign carries."""

MARKS = frozenset({*CAMPAIGN, *clicks.ADS, *clicks.CLICK_IDS, *clicks.MAIL})
"""Parameters that tell a link which somebody put somewhere from the pages' own."""

_SAID = frozenset({"trk_source", "trk_network", "trk_type"})

_WANTED = frozenset(
    {*CAMPAIGN, *hierarchy.PARAMETERS, *clicks.ADS, *clicks.CLICK_IDS, *clicks.MAIL, "hsa_net"}
)


def read_evidence(arrival: Landing, exclusions: Exclusions = SHIPPED) -> Evidence:
    """What an arrival tells."""
    given = read_parameters(arrival.url, _WANTED, clicks.CLICK_IDS) if arrival.url else {}
    if arrival.stale:
        given = _without(arrival.stale, given)
    return Evidence(
        given=given,
        said=arrival.said if _SAID.isdisjoint(given) else _read_said(arrival.said, given),
        named=target_of(given.get("utm_source")),
        paid=says_paid(given.get("utm_medium")),
        referrer=_read_referrer(arrival, exclusions) if arrival.referrer else None,
    )


def _without(stale: frozenset[str], given: dict[str, str]) -> dict[str, str]:
    """What is left without stale click ids, and without the signs of their ads' networks, unless
    another click of the same network is there.
    """
    live = {clicks.ADS[name] for name in given if name in clicks.AD_CLICKS and name not in stale}
    gone = {clicks.ADS[name] for name in stale & clicks.AD_CLICKS.keys()} - live
    return {
        name: value for name, value in given.items()
        if name not in stale and clicks.ADS.get(name) not in gone
    }  # fmt: skip


def _read_said(said: SourceParameters, given: dict[str, str]) -> SourceParameters:
    return SourceParameters(
        said.source or given.get("trk_source"),
        said.network or given.get("trk_network"),
        said.type or given.get("trk_type"),
    )


def _read_referrer(
    arrival: Landing, exclusions: Exclusions
) -> ListedReferrer | OtherReferrer | NoTouch | None:
    referrer = read_address(arrival.referrer)
    if referrer is None:
        return None
    excluded = exclusions.find(referrer, read_address(arrival.url))
    if excluded is not None:
        return excluded
    found = REFERRERS.find(referrer)
    return ListedReferrer(found[1], found[0]) if found is not None else OtherReferrer(referrer.host)
