"""Channels, their sources, those sources' campaigns and these campaigns' ads: rows that open in
place. Which of them are open is in the address.
"""

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
"""The most rows that are open at once: each is a report of its own."""
OPEN = "open"

Place = tuple[str | None, ...]
"""The keys of a row and those it is within, outermost first; None is a group of what has none."""


@dataclass(frozen=True)
class BreakdownRow:
    """A row of the table."""

    place: Place
    title: str
    row: ReportRow
    only: tuple[str, ...]
    """The filters that leave just this row's credit."""
    opens: bool
    """True when there is a level below."""
    is_open: bool
    toggled: tuple[str, ...]
    """What is open once the row has been opened, or closed."""
    left_out: int = 0
    """The rows within this one that are not listed."""

    @property
    def depth(self) -> int:
        return len(self.place)

    @property
    def name(self) -> str:
        """The place as the address has it."""
        return written(self.place)


class Breakdown:
    """The rows of one page."""

    def __init__(self, view: ReportView, opened: Sequence[str]) -> None:
        self._view = view
        self.opened = [_read(text) for text in dict.fromkeys(opened)][:MOST_OPEN]

    def wanted(self) -> list[Place]:
        """Return the open rows, outer ones first, whose outer rows are open, too."""
        opened: list[Place] = [()]
        for place in sorted(self.opened, key=len):
            if 0 < len(place) < len(LEVELS) and place[:-1] in opened:
                opened.append(place)
        return opened[1:]

    def filters(self, place: Place) -> tuple[str, ...]:
        """Return the page's filters, narrowed to a row."""
        own = (f"{group}:{key or ''}" for group, key in zip(LEVELS, place, strict=False))
        return self._view.narrowed(*own).only

    def rows(self, outermost: ReportResult, within: Mapping[Place, ReportResult]) -> list[BreakdownRow]:
        """Return all rows in order; `within` has the reports of the open ones."""

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
    """Return what people call a row."""
    if key.value is None:
        return "Unpaid sources" if group is Group.PLATFORM else f"No {group}"
    if group in (Group.CHANNEL, Group.SOURCE):
        return format_title(key.value)
    if group is Group.PLATFORM:
        return platform_title(key.value)
    return key.label or key.value


def written(place: Place) -> str:
    """Return a place as the address has it."""
    return "/".join(quote(key or "", safe="") for key in place)


def _read(text: str) -> Place:
    return tuple(unquote(key) or None for key in text.split("/"))
