"""Read the evidence for a visit's source."""

from __future__ import annotations

import msgspec

from headwater.sources import clicks, hierarchy
from headwater.sources.addresses import Address, read_address
from headwater.sources.exclusions import SHIPPED, Exclusions
from headwater.sources.outcomes import NoTouch
from headwater.sources.parameters import CAMPAIGN, read_parameters
from headwater.sources.source_names import SHIPPED_ALONE, SourceNames
from headwater.sources.vocabulary import REFERRERS, find_target, is_paid


class SourceParameters(msgspec.Struct, frozen=True, gc=False):
    """Parameters that declare a source: trk_source, trk_network, trk_type."""

    source: str | None = None
    network: str | None = None
    type: str | None = None


UNDECLARED = SourceParameters()


class Landing(msgspec.Struct, frozen=True, gc=False):
    """An opened page: its URL, its referrer, and declared parameters, which win over those in the URL."""

    url: str | None = None
    referrer: str | None = None
    declared: SourceParameters = UNDECLARED
    stale: frozenset[str] = frozenset()
    """Ignored click ids of another visitor, who shared the link."""


class ListedReferrer(msgspec.Struct, frozen=True, gc=False):
    target: str
    pattern: str


class OtherReferrer(msgspec.Struct, frozen=True, gc=False):
    host: str


class Evidence(msgspec.Struct, frozen=True, gc=False):
    parameters: dict[str, str]
    declared: SourceParameters
    named_source: str | None
    """The listed source or platform in utm_source."""
    paid: bool
    """True if utm_medium, trk_type or trk_network indicates paid traffic."""
    referrer: ListedReferrer | OtherReferrer | NoTouch | None
    is_own_name: bool = False
    network: str | None = None
    declared_network: str | None = None


_TAGS = frozenset(CAMPAIGN) - {"utm_source", "utm_medium"}
_DECLARING = frozenset({"trk_source", "trk_network", "trk_type"})

_READ_PARAMETERS = frozenset(
    {*CAMPAIGN, *hierarchy.PARAMETERS, *clicks.ADS, *clicks.CLICK_IDS, *clicks.MAIL, "hsa_net"}
)


def read_evidence(
    arrival: Landing,
    exclusions: Exclusions = SHIPPED,
    names: SourceNames = SHIPPED_ALONE,
    *,
    paid: bool = False,
) -> Evidence:
    """Prefer the Space's own names to the built-in ones. `paid` marks visits known to be paid."""
    parameters = read_parameters(arrival.url, _READ_PARAMETERS, clicks.CLICK_IDS) if arrival.url else {}
    if arrival.stale:
        parameters = _remove_stale(arrival.stale, parameters)
    declared = arrival.declared
    if not _DECLARING.isdisjoint(parameters):
        declared = _read_declared(declared, parameters)
    referrer = _read_referrer(arrival, exclusions) if arrival.referrer else None
    landing = read_address(arrival.url)
    excluded_name = _excluded_name(declared.source, landing, exclusions)
    if excluded_name is not None:
        declared = msgspec.structs.replace(declared, source=None)
    excluded_tag = _excluded_tag(parameters, landing, exclusions)
    if excluded_tag is not None:
        parameters = _remove_source(parameters)
    utm_source = parameters.get("utm_source")
    paid |= any(map(is_paid, (parameters.get("utm_medium"), declared.type, declared.network)))
    own_name = names.find(utm_source)
    network = None if own_name else names.find_network(utm_source, is_paid=paid)
    return Evidence(
        parameters=parameters,
        declared=declared,
        named_source=own_name or network or find_target(utm_source),
        paid=paid,
        referrer=referrer or excluded_name or excluded_tag,
        is_own_name=own_name is not None,
        network=network,
        declared_network=names.find_network(declared.source or declared.network, is_paid=paid),
    )


def _excluded_name(name: str | None, landing: Address | None, exclusions: Exclusions) -> NoTouch | None:
    """Return the exclusion of a host used as a source name: shops put the referrer there."""
    address = read_address(name) if name is not None and "." in name else None
    return exclusions.find(address, landing) if address is not None else None


def _excluded_tag(
    parameters: dict[str, str], landing: Address | None, exclusions: Exclusions
) -> NoTouch | None:
    """Return the exclusion of the host in utm_source, if the link has no other campaign parameter."""
    name = parameters.get("utm_source")
    if name is None or "." not in name or not _TAGS.isdisjoint(parameters):
        return None
    return _excluded_name(name, landing, exclusions)


def _remove_source(parameters: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in parameters.items() if name not in ("utm_source", "utm_medium")}


def _remove_stale(stale_ids: frozenset[str], parameters: dict[str, str]) -> dict[str, str]:
    """Remove stale click ids, and other marks of their networks without another click id."""
    live_networks = {
        clicks.ADS[name] for name in parameters if name in clicks.AD_CLICKS and name not in stale_ids
    }
    stale_networks = {clicks.ADS[name] for name in stale_ids & clicks.AD_CLICKS.keys()} - live_networks
    return {
        name: value
        for name, value in parameters.items()
        if name not in stale_ids and clicks.ADS.get(name) not in stale_networks
    }


def _read_declared(declared: SourceParameters, parameters: dict[str, str]) -> SourceParameters:
    return SourceParameters(
        declared.source or parameters.get("trk_source"),
        declared.network or parameters.get("trk_network"),
        declared.type or parameters.get("trk_type"),
    )


def _read_referrer(
    arrival: Landing, exclusions: Exclusions
) -> ListedReferrer | OtherReferrer | NoTouch | None:
    referrer = read_address(arrival.referrer)
    if referrer is None:
        return None
    exclusion = exclusions.find(referrer, read_address(arrival.url))
    if exclusion is not None:
        return exclusion
    match = REFERRERS.find(referrer)
    return ListedReferrer(match[1], match[0]) if match is not None else OtherReferrer(referrer.host)
