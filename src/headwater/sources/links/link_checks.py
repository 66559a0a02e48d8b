"""Warnings about a built link. Pure."""

from __future__ import annotations

from collections.abc import Collection

from headwater.sources.addresses import read_address
from headwater.sources.explanation import VisitExplanation
from headwater.sources.hierarchy import choose_ad_field
from headwater.sources.links.address_notes import note_address
from headwater.sources.links.links import LinkParts, click_ids_in, list_parameters, replaced_in
from headwater.sources.source_names import SourceNames
from headwater.sources.titles import format_title
from headwater.sources.vocabulary import find_target

MAX_QUOTE_LENGTH = 80


def check_link(
    address: str,
    parts: LinkParts,
    visit: VisitExplanation,
    names: SourceNames,
    campaigns: Collection[str] = (),
) -> list[str]:
    """Return warnings. `visit` is the link's classification; `campaigns` exist already."""
    return [
        *_check_source(parts, visit, names),
        *_check_address(address),
        *_check_ad(parts, visit),
        *_check_case(parts.campaign, campaigns),
        *note_address(visit.landing.url or ""),
    ]


def check_host(link: str, own_hosts: Collection[str]) -> list[str]:
    """Warn if a link leads outside these hosts, where visits aren't reported."""
    address = read_address(link)
    if address is None or not own_hosts:
        return []
    if any(f".{address.host}".endswith(f".{_normalize_host(host)}") for host in own_hosts):
        return []
    return [f"None of your sites has pages on {address.host}, so visits there may not be reported."]


def _normalize_host(host: str) -> str:
    address = read_address(host)
    return host if address is None else address.host


def _check_source(parts: LinkParts, visit: VisitExplanation, names: SourceNames) -> list[str]:
    notes: list[str] = []
    if visit.source != parts.source:
        actual = "no touchpoint" if visit.source is None else format_title(visit.source)
        notes.append(
            f"Visits by this link count as {actual}, not as {format_title(parts.source)}: "
            f"{visit.reason.words}."
        )
    value = list_parameters(parts).get("utm_source", "")
    if value and names.find(value) is None and find_target(value) is None:
        notes.append(f"No rule knows {_quoted(value)} in utm_source: choose a known value, or map it.")
    return notes


def _check_address(address: str) -> list[str]:
    notes: list[str] = []
    if replaced := replaced_in(address):
        parameters = ", ".join(_quoted(parameter) for parameter in replaced[:5])
        notes.append(f"The link replaces {parameters} in the address.")
    if clicks := click_ids_in(address):
        notes.append(
            f"The address has {', '.join(dict.fromkeys(clicks))} from an earlier click. "
            "Remove it, or visits may count as that click's."
        )
    return notes


def _check_ad(parts: LinkParts, visit: VisitExplanation) -> list[str]:
    """Warn of values that are read differently than typed."""
    notes: list[str] = []
    ad = visit.classification.ad
    for level, word, value in (
        ("campaign", "campaign", parts.campaign),
        ("adset", "ad set", parts.adset),
        ("ad", "ad", parts.ad),
        ("keyword", "keyword", parts.keyword),
    ):
        if not value:
            continue
        field = choose_ad_field(level, value)
        actual = getattr(ad, field)
        if actual is not None and actual != value:
            notes.append(
                f"The {word} is read as {_quoted(actual)}: another parameter of the address names it."
            )
        elif actual is not None and field.endswith("_id"):
            notes.append(f"{_quoted(value)} is all digits, and counts as the id of the {word}.")
    return notes


def _check_case(campaign: str, campaigns: Collection[str]) -> list[str]:
    if not campaign or campaign in campaigns:
        return []
    matches = [name for name in campaigns if name.casefold() == campaign.casefold()]
    if not matches:
        return []
    note = f"A campaign {_quoted(matches[0])} already exists. Reports show {_quoted(campaign)} separately, "
    return [f"{note}because its case differs."]


def _quoted(text: str) -> str:
    return f"“{text[:MAX_QUOTE_LENGTH]}{'…' if len(text) > MAX_QUOTE_LENGTH else ''}”"
