"""The events that a cause has changed, and which of them it has changed most. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from headwater.attribution.paths.path_data import IntArray
from headwater.reports.change_models import MOST_GROUPS, MOST_LARGEST, ChangedEvent
from headwater.reports.changes.change_split import WHOLE_MEASURES, CauseSums, ChangeSums
from headwater.reports.engine.measures import Figures, Sum, Sums, figures_of, plain, rough_figures, sums_at
from headwater.reports.engine.report import GroupKey
from headwater.reports.engine.result import Keys
from headwater.reports.engine.tally import Tally
from headwater.reports.query import Measure, ReportQuery

Order = Callable[[Keys, Figures], tuple[Fraction, list[str]]]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class CauseEvents:
    """The events that one cause has changed, those first that it has changed most."""

    def __init__(self, query: ReportQuery, order: Order, sums: CauseSums) -> None:
        """`order` is that of groups, by their keys and differences."""
        self._query, self._group_order = query, order
        self._by_group, self._by_event = Tally.join(sums.by_group), Tally.join(sums.by_event)
        tallies = [tally for tally in (self._by_group, self._by_event) if tally.groups]
        self._ids = np.unique(np.concatenate([np.array([], int), *(t.keys[-1] for t in tallies)]))
        self.count = len(self._ids)
        self._chosen: list[int] = self._ids[self._order()[:MOST_LARGEST]].tolist()

    def groups(self) -> set[Keys]:
        """Return the groups that the first of them are in."""
        return {keys for event_id in self._chosen for keys, _ in self._rows(event_id)}

    def largest(
        self, changes: ChangeSums, names: Mapping[Keys, tuple[GroupKey, ...]], zone: ZoneInfo
    ) -> Iterator[ChangedEvent]:
        """Yield the first of them."""
        for event_id in self._chosen:
            state, whole = changes.events[event_id], self._whole(event_id)
            moment = _EPOCH + timedelta(microseconds=state.at)
            yield ChangedEvent(
                event_id,
                state.name,
                moment.astimezone(zone).replace(tzinfo=None),
                state.contact_id,
                event_id not in changes.gone,
                whole[Sum.EVENTS],
                plain(Decimal(whole.revenue).scaleb(-4)),
                tuple((names[keys], figures) for keys, figures in self._rows(event_id)),
            )

    def _order(self) -> IntArray:
        """Return the places of the events: by what of their amounts has changed, then by how much
        has moved between groups.
        """
        moved = self._moved(self._by_group, self._query.measures[0])
        count, revenue = (self._moved(self._by_event, measure) for measure in WHOLE_MEASURES)
        return np.lexsort((self._ids, -count, -moved, -revenue))

    def _moved(self, tally: Tally, measure: Measure) -> NDArray[np.float64]:
        """Return of each event how much of a measure it has moved, more or less."""
        if not tally.groups:
            return np.zeros(self.count)
        rough = np.abs(rough_figures(self._query, measure, tally))
        places = np.searchsorted(self._ids, tally.keys[-1])
        return np.bincount(places, rough, self.count).astype(np.float64)

    def _whole(self, event_id: int) -> Sums:
        """Return what has changed of the whole event."""
        if not self._by_event.groups:
            return Sums({})
        at = np.flatnonzero(self._by_event.keys[-1] == event_id).tolist()
        return sums_at(self._by_event, at[0], 0) if at else Sums({})

    def _rows(self, event_id: int) -> list[tuple[Keys, Figures]]:
        """Return what an event has changed of groups, the largest first."""
        if not self._query.group_by or not self._by_group.groups:
            return []
        at: list[int] = np.flatnonzero(self._by_group.keys[-1] == event_id).tolist()
        rows = [
            (tuple(int(keys[row]) for keys in self._by_group.keys[:-1]), figures_of(self._query, sums, sums))
            for row in at
            for sums in [sums_at(self._by_group, row, 0)]
        ]
        rows = [row for row in rows if any(row[1].values())]
        return sorted(rows, key=lambda row: self._group_order(*row))[:MOST_GROUPS]
