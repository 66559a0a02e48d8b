"""Turn the sums of one or two periods into a report: select, order and compare groups. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from headwater.attribution.paths.lookup import distinct_values
from headwater.attribution.paths.path_data import IntArray
from headwater.reports.engine.addition import BatchSums
from headwater.reports.engine.chosen_events import STATUSES, NoCredit
from headwater.reports.engine.dimensions import NO_KEY
from headwater.reports.engine.group_sums import GroupSums, sum_all
from headwater.reports.engine.groups import ReportDimension
from headwater.reports.engine.measures import (
    TOUCHED_EVENTS,
    TOUCHED_REVENUE,
    Sum,
    Sums,
    compute_figure,
    credit_sum,
    rough_figures,
    sum_groups,
    sums_at,
)
from headwater.reports.engine.plan import join_counts
from headwater.reports.engine.time_buckets import ReportPeriod, counterpart
from headwater.reports.query import CREDITED, FigureColumn, Group, Measure, ReportQuery

Keys = tuple[int, ...]
"""Time buckets count from 1 in the period."""


@dataclass(frozen=True)
class PeriodSums:
    query: ReportQuery
    period: ReportPeriod
    groups: GroupSums
    statuses: Mapping[str, GroupSums]
    """By model and event status."""
    names: Mapping[str, int]

    @classmethod
    def join(cls, query: ReportQuery, period: ReportPeriod, batches: Sequence[BatchSums]) -> Self:
        statuses = {
            model: GroupSums.join([batch.statuses[model] for batch in batches]) for model in query.models
        }
        groups = GroupSums.join([batch.groups for batch in batches])
        names = join_counts(batch.names for batch in batches)
        return cls(query, period, groups, statuses, names)

    @cached_property
    def contacts(self) -> IntArray:
        """The number of contacts in each group."""
        return self.groups.contact_counts()

    @cached_property
    def overall(self) -> Sums:
        """Every event that meets event filters, and every visit. With a filter on touches, the conversions of
        all visits are unknown.
        """
        overall = sum_groups(self._statuses).with_total_credit(self.query.models)
        if self.query.of_some_touches:
            return overall
        return Sums({**overall.by_name, **self._conversions_of_visits}, overall.contacts)

    @property
    def _conversions_of_visits(self) -> dict[str, int]:
        names = [credit_sum(Measure.CONVERSION_RATE, model) for model in self.query.models]
        return {name: sum_all(self.groups.sums[name]) for name in names if name in self.groups.sums}

    @property
    def unvisited_share(self) -> Fraction | None:
        """The share of conversions, by the first model, whose credited touch belongs to no visit."""
        rate, conversions = (
            credit_sum(measure, self.query.models[0])
            for measure in (Measure.CONVERSION_RATE, Measure.CREDITED_CONVERSIONS)
        )
        credit = self.total if self.query.of_some_touches else self.overall
        all_conversions = credit[conversions]
        return 1 - Fraction(credit[rate], all_conversions) if all_conversions else None

    @cached_property
    def total(self) -> Sums:
        """All counted events, with all groups' credit."""
        by_status = self._statuses
        counted_sums = sum_groups(by_status)
        if self.query.of_some_touches:
            counted_sums = self.credited(self.query.models[0])
        touched_sums = sum_groups(by_status)
        credit = sum_groups(self.groups)
        names = [credit_sum(measure, model) for measure in CREDITED for model in self.query.models]
        sums = {name: credit[name] for name in names} | self._conversions_of_visits
        sums |= {name: touched_sums[name] for name in (TOUCHED_EVENTS, TOUCHED_REVENUE)}
        return Sums({**counted_sums.by_name, **sums}, counted_sums.contacts)

    @property
    def event_count(self) -> int | None:
        """None for a period of touches."""
        is_of_touches = self.query.of_touch_dates
        return None if is_of_touches else self.overall[Sum.EVENTS]

    @property
    def base(self) -> Sums:
        """The sums that shares are relative to."""
        return self.total if self.query.of_touch_dates else self.overall

    def at(self, group: int) -> Sums:
        return sums_at(self.groups, group, int(self.contacts[group]))

    def keys(self, group: int) -> Keys:
        return tuple(int(keys[group]) for keys in self.groups.keys)

    def find(self, group_keys: Sequence[Keys]) -> dict[Keys, Sums]:
        is_near = np.ones(self.groups.groups, dtype=np.bool_)
        for index, keys in enumerate(self.groups.keys):
            is_near &= np.isin(keys, [group[index] for group in group_keys])
        places = {self.keys(group): group for group in np.flatnonzero(is_near).tolist()}
        return {keys: self.at(places[keys]) for keys in group_keys if keys in places}

    def credited(self, model: str) -> Sums:
        return self._by_status(model).get(None, Sums({}))

    def unattributed(self, model: str, reasons: Collection[NoCredit] = tuple(NoCredit)) -> Sums:
        """Count events without credit for these reasons as credited."""
        by_status = self._by_status(model)
        parts = [by_status[reason] for reason in reasons if reason in by_status]
        names = {name for sums_of_status in parts for name in sums_of_status.by_name}
        sums = {name: sum(sums_of_status[name] for sums_of_status in parts) for name in names}
        return Sums(sums, self._contacts_without(model, reasons)).with_total_credit([model])

    def _contacts_without(self, model: str, reasons: Collection[NoCredit]) -> int:
        group_sums = self.statuses[model]
        if not group_sums.groups:
            return 0
        statuses = [STATUSES.index(reason) for reason in reasons]
        has_reason = np.isin(group_sums.keys[0], statuses)[group_sums.contacts[0]]
        return len(distinct_values(group_sums.contacts[1][has_reason]))

    def _by_status(self, model: str) -> dict[NoCredit | str | None, Sums]:
        group_sums = self.statuses[model]
        contacts = group_sums.contact_counts().tolist()
        statuses: list[int] = group_sums.keys[0].tolist() if group_sums.groups else []
        return {
            STATUSES[status]: sums_at(group_sums, index, contacts[index])
            for index, status in enumerate(statuses)
        }

    @property
    def _statuses(self) -> GroupSums:
        return next(iter(self.statuses.values()))


class Ranking:
    def __init__(self, sums: PeriodSums, dimensions: Sequence[ReportDimension]) -> None:
        self._sums, self._dimensions = sums, dimensions
        self._query = sums.query
        self._by = self._query.order_by or self._query.measures[0]

    def first(self) -> list[int]:
        """Return the listed groups' indexes in order, ties by key, byte by byte."""
        texts = {group: self._key_texts(group) for group in self._candidates()}
        places = sorted(texts, key=lambda group: [_last_if_none(text) for text in texts[group]])
        if isinstance(self._by, Group):
            order_index = self._query.group_by.index(self._by)
            values: dict[int, Any] = {group: _encode(texts[group][order_index]) for group in places}
        else:
            column = FigureColumn(self._by, self._query.models[0])
            values = {
                group: compute_figure(self._query, column, self._sums.at(group), self._sums.base)
                for group in places
            }
        having = [group for group in places if values[group] is not None]
        having.sort(key=lambda group: values[group], reverse=self._query.descending)
        groups_without_value = [group for group in places if values[group] is None]
        return [*having, *groups_without_value][: self._query.limit]

    def _key_texts(self, group: int) -> list[str | None]:
        return [
            dimension.key_text(key)
            for dimension, key in zip(self._dimensions, self._sums.keys(group), strict=True)
        ]

    def _candidates(self) -> list[int]:
        """Return the indexes of groups that could be listed, without those whose approximate figure is too
        small if there are many.
        """
        groups, limit = self._sums.groups, self._query.limit
        all_groups = list(range(groups.groups))
        if groups.groups <= _MAX_SORTED or isinstance(self._by, Group):
            return all_groups
        figures = rough_figures(self._query, self._by, groups)
        figures = figures if self._query.descending else -figures
        defined = figures[~np.isnan(figures)]
        if len(defined) < limit:
            return all_groups
        if self._by in _COUNTS and len(self._dimensions) == 1 and self._dimensions[0].keys.in_order:
            (keys,) = groups.keys
            return np.lexsort((keys, keys == NO_KEY, -figures))[:limit].tolist()
        threshold = np.partition(defined, len(defined) - limit)[len(defined) - limit]
        return np.flatnonzero(figures >= threshold - abs(threshold) * _ROUGHLY).tolist()


_MAX_SORTED = 5_000
_ROUGHLY = 1e-9
_COUNTS = frozenset(
    {
        Measure.EVENTS,
        Measure.CONVERSIONS,
        Measure.ORDERS,
        Measure.UPSELLS,
        Measure.REFUND_COUNT,
        Measure.VISITS,
    }
)


def counterparts(
    current: PeriodSums, compared_period: ReportPeriod, places: Sequence[int]
) -> dict[int, Keys]:
    """Return the existing compared keys of listed groups."""
    keys_of: dict[int, Keys] = {}
    for group in places:
        keys: list[int | None] = list(current.keys(group))
        for index, buckets in current.period.steps.items():
            number = keys[index] or 0
            keys[index] = counterpart(number, current.query.compare, buckets, compared_period.steps[index])
        if None not in keys:
            keys_of[group] = tuple(key for key in keys if key is not None)
    return keys_of


def _encode(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _last_if_none(text: str | None) -> tuple[bool, bytes]:
    return text is None, (text or "").encode()
