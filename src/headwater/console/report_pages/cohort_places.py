"""The rows of cohorts by source. A platform that bills several sources has a row with its spend, and the
sources stand below it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    """2 below a platform."""


def list_places(
    group: Group, groups: Iterable[CohortGroup], platforms: Sequence[CohortGroup]
) -> list[CohortPlace]:
    """Return rows, the most spend first, then the most revenue. `platforms` are those of the same customers:

        Meta Ads         106 customers   spend 6,256     the platform's row
          Facebook ads    67             none            a source whose spend is part of it
          Instagram ads   39             none
        TikTok ads        12             spend 310       the only source of its platform

    A platform with the customers of one source stands for that source.
    """
    billed: dict[str | None, list[CohortGroup]] = {
        platform.key: [] for platform in platforms if platform.spend
    }
    tops: list[tuple[CohortGroup, Group]] = []
    for row in groups:
        biller = find_billing_platform(row.key) if row.key and row.spend is None else None
        if biller in billed:
            billed[biller].append(row)
        else:
            tops.append((row, group))
    tops += [(platform, Group.PLATFORM) for platform in platforms if billed.get(platform.key)]
    tops.sort(key=lambda top: (top[0].spend or Decimal(0), top[0].revenue), reverse=True)
    places: list[CohortPlace] = []
    for top, top_group in tops:
        places.append(CohortPlace(top_group, top))
        sources = billed.get(top.key, []) if top_group is Group.PLATFORM else []
        if [source.new_customers for source in sources] != [top.new_customers]:
            places += [CohortPlace(group, source, depth=2) for source in sources]
    return places
