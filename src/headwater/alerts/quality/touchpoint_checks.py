"""Findings about touchpoints: unknown sources, sites that are no sources, links without tags."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.alerts.quality.event_checks import MOST_EVENTS, MOST_EXAMPLES
from headwater.alerts.quality.models import Finding, FindingExample, FindingKind, FindingPart, Sample
from headwater.database.queries import Queries, fetch_all
from headwater.http.inputs.timerange import TimeRange
from headwater.people.companies.domains import registrable_domain
from headwater.sources import clicks
from headwater.sources.ad_platforms import normalize_platform
from headwater.sources.addresses import read_address
from headwater.sources.catalogue import PAID_IDS, PAID_OTHER, SOURCE_IDS
from headwater.sources.exclusions import Exclusions, make_exclusions
from headwater.sources.networks import NAME
from headwater.sources.parameters import read_parameters
from headwater.sources.source_names import normal_name
from headwater.sources.titles import format_title
from headwater.sources.vocabulary import choose_source, find_target, is_paid, words
from headwater.spaces.models import Space
from headwater.spaces.sites.source_rules import fetch_own_hosts

queries = Queries(__name__, "touchpoints.sql")

MOST_TOUCHPOINTS = 20_000
MOST_ORDERS = 2_000
MOST_GROUPS = 500
MOST_PARTS = 10
FEWEST_RETURNS = 3
"""A payment page needs at least this many orders after a return from it."""

UNNAMED = ["paid_medium", "paid_type", "campaign", "fallback", "referrer", *clicks.LINKS, *clicks.OTHER]
"""Rules that choose a source without understanding utm_source."""
PAYMENT_WORDS = ("pay", "checkout", "klarna", "stripe", "billing", "3ds", "bank", "adyen", "mollie")
"""Parts of the host names of payment pages."""


class TouchpointFindings(Struct, frozen=True):
    sample: Sample
    findings: tuple[Finding, ...]


@dataclass
class _Group:
    value: str
    count: int
    ids: list[int]


class TouchpointChecks:
    def __init__(self, connection: AsyncConnection, space: Space, period: TimeRange) -> None:
        self._connection, self._space = connection, space
        self._values: dict[str, Any] = {
            "space_id": space.id,
            "start": period.start,
            "end": period.end,
            "is_past": period.end < datetime.now(UTC),
            "most": MOST_TOUCHPOINTS,
            "most_groups": MOST_GROUPS,
            "examples": MOST_EXAMPLES,
            "unnamed": UNNAMED,
            "paid": PAID_IDS,
            "links": list(clicks.LINKS),
            "paid_other": SOURCE_IDS[PAID_OTHER],
        }

    async def run(self) -> TouchpointFindings:
        """Include findings without rows."""
        total_row, *rows = await fetch_all(self._connection, queries["groups"], self._values)
        _, _, count, _, since, looked_at = total_row
        groups: dict[str, list[_Group]] = defaultdict(list)
        for mark, value, number, ids, *_ in rows:
            groups[mark].append(_Group(value, number, ids))
        sites = await self._sites(groups["site"])
        findings = [
            await self._finding(FindingKind.UNKNOWN_NETWORKS, self._unknown(groups["network"])),
            await self._finding(FindingKind.UNKNOWN_UTM_SOURCES, self._unknown(groups["utm_source"])),
            await self._finding(FindingKind.NO_UTM_SOURCE, groups["no_utm_source"]),
            await self._finding(FindingKind.UNTAGGED_CLICKS, self._by_source(groups["no_campaign"])),
            *[await self._finding(kind, sites[kind]) for kind in _OF_SITES],
        ]
        is_all = looked_at < MOST_TOUCHPOINTS
        return TouchpointFindings(Sample(count, since, is_all), tuple(findings))

    async def _finding(self, kind: FindingKind, groups: list[_Group]) -> Finding:
        first_groups = groups[:MOST_PARTS]
        examples = await self._examples([row_id for group in first_groups for row_id in group.ids])
        parts = tuple(
            FindingPart(
                group.value,
                group.count,
                tuple(examples[row_id] for row_id in group.ids if row_id in examples),
                _SUGGESTED[kind](group.value) if kind in _SUGGESTED else None,
            )
            for group in first_groups
        )
        count = sum(group.count for group in groups)
        if kind is FindingKind.NO_UTM_SOURCE:
            return Finding(kind, count, examples=tuple(examples.values())[:MOST_EXAMPLES])
        return Finding(kind, count, parts=parts)

    async def _examples(self, ids: list[int]) -> Mapping[int, FindingExample]:
        if not ids:
            return {}
        values = {"space_id": self._space.id, "ids": ids}
        rows = await fetch_all(self._connection, queries["examples"], values)
        return {
            row_id: FindingExample(url or referrer_host or "", moment, contact_id=contact_id)
            for row_id, contact_id, moment, url, referrer_host in rows
        }

    def _unknown(self, groups: list[_Group]) -> list[_Group]:
        """Return the utm_source values that no rule knows, normalized."""
        groups_by_value: dict[str, _Group] = {}
        for group in groups:
            value = _read_value(group.value)
            if value is None or self._is_known(value):
                continue
            total = groups_by_value.setdefault(value, _Group(value, 0, []))
            total.count += group.count
            total.ids = (total.ids + group.ids)[:MOST_EXAMPLES]
        return sorted(groups_by_value.values(), key=lambda group: (-group.count, group.value))

    def _by_source(self, groups: Iterable[_Group]) -> list[_Group]:
        name_of = self._space.sources.get_name
        return [_Group(format_title(name_of(int(group.value))), group.count, group.ids) for group in groups]

    def _is_known(self, value: str) -> bool:
        sources = self._space.sources
        return (
            sources.find(value) is not None
            or sources.find_network(value, is_paid=True) is not None
            or find_target(value) is not None
        )

    async def _sites(self, groups: list[_Group]) -> Mapping[FindingKind, list[_Group]]:
        own_hosts = [*self._space.own_domains, *await fetch_own_hosts(self._connection, self._space.id)]
        exclusions = make_exclusions(
            tuple(own_hosts), tuple(self._space.excluded_referrers), tuple(self._space.heeded_referrers)
        )
        domains = {registrable_domain(host) for host in own_hosts} - {""}
        returns = await self._returns()
        sites: dict[FindingKind, list[_Group]] = {kind: [] for kind in _OF_SITES}
        for group in groups:
            if _is_excluded(group.value, exclusions):
                continue
            if registrable_domain(group.value) in domains:
                sites[FindingKind.SELF_REFERRALS].append(group)
            elif _is_payment(group.value, *returns.get(group.value, (0, 0))):
                sites[FindingKind.PAYMENT_REFERRERS].append(group)
        return sites

    async def _returns(self) -> Mapping[str, tuple[int, int]]:
        """Return, by host, how many orders directly followed a visit from it, and how many of those visits
        followed another.
        """
        values = {name: self._values[name] for name in ("space_id", "start", "end", "most_groups")} | {
            "most": MOST_EVENTS,
            "most_orders": MOST_ORDERS,
        }
        rows = await fetch_all(self._connection, queries["returns"], values)
        return {host: (orders, interruptions) for host, orders, interruptions in rows}


def suggest_source(value: str) -> str | None:
    """Return the listed source that a value of utm_source probably means, by its first known word. A single
    letter, such as X, rarely names a source.
    """
    targets = (find_target(word) for word in words(value) if len(word) > 1)
    target = next((target for target in targets if target is not None), None)
    return None if target is None else choose_source(target, paid=is_paid(value))


def suggest_network(value: str) -> str | None:
    """Name a network for links with this utm_source."""
    name = f"{normalize_platform(value)}_ads"
    return name if NAME.fullmatch(name) else None


_SUGGESTED = {FindingKind.UNKNOWN_UTM_SOURCES: suggest_source, FindingKind.UNKNOWN_NETWORKS: suggest_network}
_OF_SITES = (FindingKind.SELF_REFERRALS, FindingKind.PAYMENT_REFERRERS)


def _read_value(raw: str) -> str | None:
    """Return a value of utm_source, normalized by the rules."""
    value = read_parameters(f"https://x/?utm_source={raw}", {"utm_source"}, ()).get("utm_source")
    return normal_name(value) or None if value is not None else None


def _is_excluded(host: str, exclusions: Exclusions) -> bool:
    address = read_address(host)
    return address is None or exclusions.find(address, None) is not None


def _is_payment(host: str, orders: int, interrupted: int) -> bool:
    """Return whether a host seems to be a payment page: by its name, or because nearly all buyers who came
    from it had visited before.
    """
    if any(word in label for word in PAYMENT_WORDS for label in host.split(".")):
        return True
    return orders >= FEWEST_RETURNS and interrupted * 5 >= orders * 4
