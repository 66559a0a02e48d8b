"""The rows of cohorts by source: a platform that bills several sources has one with its spend, and they stand
below it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from headwater.reports.query import Group
from headwater.reports.questions.cohort_sums import CohortGroup
from headwater.sources.ad_platforms import find_billing_platform


@dataclass(frozen=True)
class CohortPlace:
    """A row of the table."""

    group: Group
    of: CohortGroup
    depth: int = 1


def list_places(
    group: Group, groups: Iterable[CohortGroup], platforms: Iterable[CohortGroup]
) -> list[CohortPlace]:
    """Return rows, the most spend first, then the most revenue. `platforms` are those of the same customers:

        Meta Ads         106 customers   spend 6,256     the platform's row
          Facebook ads    67             none            a source whose spend is part of it
          Instagram ads   39             none
        TikTok ads        12             spend 310       the only source of its platform

    A platform with the customers of one source stands for that source.
    """
    sources = list(groups)
    billing = {platform.key: platform for platform in platforms if platform.spend}
    below: dict[str | None, list[CohortGroup]] = {key: [] for key in billing}
    tops: list[CohortPlace] = []
    for source in sources:
        biller = find_billing_platform(source.key) if source.key and source.spend is None else None
        if biller in below:
            below[biller].append(source)
        else:
            tops.append(CohortPlace(group, source))
    tops += [CohortPlace(Group.PLATFORM, billing[key]) for key, members in below.items() if members]
    tops.sort(key=lambda place: (place.of.spend or Decimal(0), place.of.revenue), reverse=True)
    return [place for top in tops for place in (top, *_list_below(group, top, below))]


def _list_below(
    group: Group, top: CohortPlace, below: dict[str | None, list[CohortGroup]]
) -> Iterator[CohortPlace]:
    members = below.get(top.of.key, []) if top.group is Group.PLATFORM else []
    if len(members) > 1 or any(member.new_customers != top.of.new_customers for member in members):
        for member in members:
            yield CohortPlace(group, member, depth=2)
