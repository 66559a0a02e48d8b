"""Nested rows of channels, sources, campaigns and ads. The query lists the open rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote, unquote

from msgspec import Struct

from headwater.console.report_pages.view import ReportView
from headwater.reports.engine.report import GroupKey, ReportResult, ReportRow
from headwater.reports.query import Group
from headwater.sources.ad_platforms import platform_title
from headwater.sources.titles import format_title

LEVELS = (Group.CHANNEL, Group.SOURCE, Group.CAMPAIGN, Group.AD)
MOST_OPEN = 12
OPEN = "open"

Place = tuple[str, ...]
"""Keys of a row and its parents, outermost first. Empty for the group without a value."""


class BreakdownRow(Struct, frozen=True):
    place: Place
    title: str
    row: ReportRow
    only: tuple[str, ...]
    """Filters that select the row's credit."""
    opens: bool
    """Whether a level exists below it."""
    is_open: bool
    toggled: list[str]
    left_out: int = 0
    """Rows within this one that aren't listed."""

    @property
    def depth(self) -> int:
        return len(self.place)

    @property
    def name(self) -> str:
        return write_place(self.place)


class Breakdown:
    def __init__(self, view: ReportView, opened: Sequence[str]) -> None:
        self._view = view
        self.opened = read_places(opened)

    def list_open_places(self) -> list[Place]:
        return [place for place in self.opened if len(place) < len(LEVELS)]

    def filters(self, path: Place) -> tuple[str, ...]:
        conditions = (f"{group}:{key}" for group, key in zip(LEVELS, path, strict=False))
        return self._view.narrow(*conditions).only

    def rows(
        self, outermost: ReportResult, inner_reports: Mapping[Place, ReportResult]
    ) -> list[BreakdownRow]:
        """Return rows in order; `inner_reports` has the reports of open rows."""

        def list_rows(path: Place, report: ReportResult) -> list[BreakdownRow]:
            rows: list[BreakdownRow] = []
            for row in report.rows:
                row_path = (*path, row.keys[0].value or "")
                inner_report = inner_reports.get(row_path)
                rows.append(self._row(row_path, row, inner_report))
                rows += list_rows(row_path, inner_report) if inner_report else []
            return rows

        return list_rows((), outermost)

    def _row(self, path: Place, row: ReportRow, inner: ReportResult | None) -> BreakdownRow:
        return BreakdownRow(
            path,
            title(LEVELS[len(path) - 1], row.keys[0]),
            row,
            self.filters(path),
            opens=len(path) < len(LEVELS),
            is_open=inner is not None,
            toggled=toggle_place(self.opened, path),
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


def write_place(place: Place) -> str:
    return "/".join(quote(key, safe="") for key in place)


def read_places(texts: Sequence[str]) -> tuple[Place, ...]:
    """Return the open rows, each after the row above it."""
    places = [tuple(map(unquote, text.split("/"))) for text in dict.fromkeys(texts)][:MOST_OPEN]
    opened_places: list[Place] = []
    for place in sorted(places, key=len):
        if len(place) == 1 or place[:-1] in opened_places:
            opened_places.append(place)
    return tuple(opened_places)


def toggle_place(opened: Sequence[Place], place: Place) -> list[str]:
    """Return the open rows after a click on one: also this one, or without it and those below it."""
    other_places = [opened_place for opened_place in opened if opened_place[: len(place)] != place]
    return [*map(write_place, other_places if place in opened else [*other_places, place])]
