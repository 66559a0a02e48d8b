"""Sentences on what to mind about a link that was built. Pure: the decision on its visits is handed
over, and not made here.
"""

from __future__ import annotations

from collections.abc import Collection

from headwater.sources.addresses import read_address
from headwater.sources.explanation import VisitExplanation
from headwater.sources.hierarchy import field_of
from headwater.sources.links.address_notes import note_address
from headwater.sources.links.links import LinkParts, click_ids_in, parameters_of, replaced_in
from headwater.sources.source_names import SourceNames
from headwater.sources.titles import title_of
from headwater.sources.vocabulary import target_of

MOST_QUOTED = 80


def check_link(
    address: str,
    parts: LinkParts,
    visit: VisitExplanation,
    names: SourceNames,
    campaigns: Collection[str] = (),
) -> list[str]:
    """Return what to mind about the link of an address and its parts, as sentences. `visit` is the
    decision on a visit by the link; `campaigns` are names of campaigns that there have been.
    """
    return [
        *_of_source(parts, visit, names),
        *_of_address(address),
        *_of_ad(parts, visit),
        *_of_case(parts.campaign, campaigns),
        *note_address(visit.landing.url or ""),
    ]


def check_host(link: str, own_hosts: Collection[str]) -> list[str]:
    """Return a sentence when a link leads to a host that is none of the Space's, where it has any:
    visits there are reported by nobody.
    """
    address = read_address(link)
    if address is None or not own_hosts:
        return []
    if any(f".{address.host}".endswith(f".{_bare(host)}") for host in own_hosts):
        return []
    return [f"None of your sites has pages on {address.host}, so its visits may not be reported."]


def _bare(host: str) -> str:
    address = read_address(host)
    return host if address is None else address.host


def _of_source(parts: LinkParts, visit: VisitExplanation, names: SourceNames) -> list[str]:
    notes: list[str] = []
    if visit.source != parts.source:
        called = "no touchpoint" if visit.source is None else title_of(visit.source)
        notes.append(
            f"Visits by this link count as {called}, not as {title_of(parts.source)}: {visit.reason.words}."
        )
    value = parameters_of(parts).get("utm_source", "")
    if value and names.find(value) is None and target_of(value) is None:
        notes.append(f"No rule knows {_quoted(value)} in utm_source: choose a known value, or map it.")
    return notes


def _of_address(address: str) -> list[str]:
    notes: list[str] = []
    if replaced := replaced_in(address):
        listed = ", ".join(_quoted(piece) for piece in replaced[:5])
        notes.append(f"The address had {listed} already: the link has its own instead.")
    if clicks := click_ids_in(address):
        notes.append(
            f"The address has {', '.join(dict.fromkeys(clicks))}, somebody's click: "
            "take it out, or visits may count as that click's."
        )
    return notes


def _of_ad(parts: LinkParts, visit: VisitExplanation) -> list[str]:
    """Sentences on values that are read otherwise than they were typed."""
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
        field = field_of(level, value)
        read = getattr(ad, field)
        if read is not None and read != value:
            notes.append(f"The {word} is read as {_quoted(read)}: another parameter of the address names it.")
        elif read is not None and field.endswith("_id"):
            notes.append(f"{_quoted(value)} is all digits, and counts as the id of the {word}.")
    return notes


def _of_case(campaign: str, campaigns: Collection[str]) -> list[str]:
    if not campaign or campaign in campaigns:
        return []
    alike = [name for name in campaigns if name.casefold() == campaign.casefold()]
    if not alike:
        return []
    other = f"{_quoted(campaign)} is another one in reports"
    return [f"There is a campaign {_quoted(alike[0])} already: written otherwise, {other}."]


def _quoted(text: str) -> str:
    return f"“{text[:MOST_QUOTED]}{'…' if len(text) > MOST_QUOTED else ''}”"
