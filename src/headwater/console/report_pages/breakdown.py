"""Nested rows of channels, sources, campaigns and ads that expand in place. The query lists the open rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from headwater.console.report_pages.view import ReportView
from headwater.reports.engine.report import GroupKey, ReportResult, ReportRow
from headwater.reports.query import Group
from headwater.sources.ad_platforms import platform_title
from headwater.sources.titles import format_title

LEVELS = (Group.CHANNEL, Group.SOURCE, Group.CAMPAIGN, Group.AD)
MOST_OPEN = 12
OPEN = "open"

Place = tuple[str | None, ...]
"""Keys of a row and its parents, outermost first. None is the group without a value."""


@dataclass(frozen=True)
class BreakdownRow:
    place: Place
    title: str
    row: ReportRow
    only: tuple[str, ...]
    """Filters that select the row's credit."""
    opens: bool
    """Whether a level exists below it."""
    is_open: bool
    toggled: tuple[str, ...]
    left_out: int = 0
    """Rows within this one that aren't listed."""

    @property
    def depth(self) -> int:
        return len(self.place)

    @property
    def name(self) -> str:
        return written(self.place)


class Breakdown:
    def __init__(self, view: ReportView, opened: Sequence[str]) -> None:
        self._view = view
        self.opened = [_read(text) for text in dict.fromkeys(opened)][:MOST_OPEN]

    def wanted(self) -> list[Place]:
        """Return open rows whose parents are open, outer rows first."""
        opened: list[Place] = [()]
        for place in sorted(self.opened, key=len):
            if 0 < len(place) < len(LEVELS) and place[:-1] in opened:
                opened.append(place)
        return opened[1:]

    def filters(self, place: Place) -> tuple[str, ...]:
        own = (f"{group}:{key or ''}" for group, key in zip(LEVELS, place, strict=False))
        return self._view.narrowed(*own).only

    def rows(self, outermost: ReportResult, within: Mapping[Place, ReportResult]) -> list[BreakdownRow]:
        """Return all rows in order; `within` has the reports of open rows."""

        def below(place: Place, report: ReportResult) -> list[BreakdownRow]:
            rows: list[BreakdownRow] = []
            for row in report.rows:
                inside = (*place, row.keys[0].value)
                inner = within.get(inside)
                rows.append(self._row(inside, row, inner))
                rows += below(inside, inner) if inner else []
            return rows

        return below((), outermost)

    def _row(self, place: Place, row: ReportRow, inner: ReportResult | None) -> BreakdownRow:
        others = [each for each in self.opened if each[: len(place)] != place]
        return BreakdownRow(
            place,
            title(LEVELS[len(place) - 1], row.keys[0]),
            row,
            self.filters(place),
            opens=len(place) < len(LEVELS),
            is_open=inner is not None,
            toggled=tuple(map(written, [*others, place] if inner is None else others)),
            left_out=inner.left_out if inner else 0,
        )


def title(group: Group, key: GroupKey) -> str:
    if key.value is None:
        return "Unpaid sources" if group is Group.PLATFORM else f"No {group}"
    if group in (Group.CHANNEL, Group.SOURCE):
        return format_title(key.value)
    if group is Group.PLATFORM:
        return platform_title(key.value)
    return key.label or key.value


def written(place: Place) -> str:
    return "/".join(quote(key or "", safe="") for key in place)


def _read(text: str) -> Place:
    return tuple(unquote(key) or None for key in text.split("/"))
