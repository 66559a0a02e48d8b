"""The bar above every report: what is chosen, and links to each other choice. Links rather than a
form: one step without a script, and nothing half chosen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from headwater.attribution.models import MODELS, WINDOWS
from headwater.console.report_pages.view import ANY, CONVERSIONS, SALES, ReportView
from headwater.reports.models import Comparison, DateBasis, Group
from headwater.sources.titles import title_of
from headwater.spaces.models import Space

PERIODS = {
    "d": "today", "y": "yesterday", "w": "last 7 days", "t": "last 30 days", "m": "this month",
    "l": "last month", "q": "this quarter", "n": "last 90 days", "a": "this year",
    "b": "last 12 months",
}  # fmt: skip
"""The periods that have a key of their own, by that key."""
COMPARISONS = {
    Comparison.PREVIOUS_PERIOD: "the period before",
    Comparison.PREVIOUS_YEAR: "the year before",
    Comparison.NONE: "nothing",
}
MODES = {"profile": "person", "company": "company"}
BASES = {
    DateBasis.CONVERSION: "date of the conversion",
    DateBasis.TOUCH: "date of the touchpoint",
}
_GROUP_TITLES = {Group.EVENT: "event", Group.LANDING_PAGE: "landing page", Group.ADSET: "ad set"}


@dataclass(frozen=True)
class Choice:
    """One of the options of a menu."""

    text: str
    link: str
    chosen: bool
    key: str = ""
    """The key that chooses it, where scripts run."""


@dataclass(frozen=True)
class Menu:
    """Options of which one is chosen."""

    name: str
    title: str
    chosen: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Filter:
    """A filter that is set, and the page without it."""

    text: str
    link: str


@dataclass(frozen=True)
class ReportBar:
    """The bar of one page."""

    path: str
    period: Menu
    menus: tuple[Menu, ...]
    filters: tuple[Filter, ...]
    hidden: tuple[tuple[str, str], ...]
    """What the form for dates carries along."""
    start_date: str
    end_date: str
    today: str


def read_bar(
    space: Space, view: ReportView, path: str, *, without: frozenset[str] = frozenset()
) -> ReportBar:
    """Return the bar of the page at a path; `without` names choices that it does not have."""
    menus = [
        _menu(view, path, "compare", "Compared with", COMPARISONS),
        _menu(view, path, "conversion", "Conversion", _conversions(space)),
        _menu(view, path, "attribution_model", "Model", _MODELS),
        _menu(view, path, "attribution_window", "Window", _WINDOWS),
        _menu(view, path, "query_mode", "By", MODES),
        _menu(view, path, "date_basis", "Dated by", BASES),
    ]  # fmt: skip
    dates = {"start_date", "end_date", "period"}
    return ReportBar(
        path, _periods(view, path), tuple(menu for menu in menus if menu.name not in without),
        tuple(_filters(space, view, path)),
        tuple((name, value) for name, value in view.pairs if name not in dates),
        view.start_date[:10], view.end_date[:10],
        datetime.now(space.zone).date().isoformat(),
    )  # fmt: skip


def model_title(name: str) -> str:
    """Return what people call an attribution model."""
    title = name.replace("_", " ").capitalize().replace("non direct", "non-direct")
    return title.replace("U shaped", "U-shaped").replace("platform touch", "paid touch")


def window_title(days: str) -> str:
    """Return a window in words."""
    if days == "0":
        return "any time"
    return f"{days} day{'s' * (days != '1')}"


_MODELS = {name: model_title(name) for name in MODELS}
_WINDOWS = {str(days): window_title(str(days)) for days in WINDOWS}


def conversion_title(space: Space, name: str) -> str:
    """Return what people call the events of a conversion."""
    if name in (SALES, ANY):
        return {SALES: "sales", ANY: "any event"}[name]
    return space.event_labels.get(name, "") or name.replace("_", " ")


def _conversions(space: Space) -> dict[str, str]:
    return {
        name: conversion_title(space, name)
        for name in CONVERSIONS
        if not name.startswith("custom_event_") or name in space.event_labels
    }


def _menu(view: ReportView, path: str, name: str, title: str, options: dict[Any, str]) -> Menu:
    chosen: str = getattr(view, name)
    choices = tuple(
        Choice(text, view.changed(**{name: str(option)}).link(path), option == chosen)
        for option, text in options.items()
    )
    return Menu(name, title, options.get(chosen) or chosen, choices)


def _periods(view: ReportView, path: str) -> Menu:
    choices = tuple(
        Choice(
            text.capitalize(),
            view.changed(period=text, start_date="", end_date="").link(path),
            text == view.period,
            key,
        )
        for key, text in PERIODS.items()
    )
    dates = f"{view.start_date[:10]} to {view.end_date[:10]}"
    return Menu("period", "Period", (view.period or dates).capitalize(), choices)


def _filters(space: Space, view: ReportView, path: str) -> Iterable[Filter]:
    for text in view.only:
        group, _, key = text.partition(":")
        others = tuple(other for other in view.only if other != text)
        yield Filter(filter_text(space, group, key), view.changed(only=others).link(path))


def filter_text(space: Space, group: str, key: str) -> str:
    """Return a filter as people read it."""
    title = _GROUP_TITLES.get(Group(group), group) if group in set(Group) else group
    if not key:
        return f"no {title}"
    if group in (Group.CHANNEL, Group.SOURCE):
        key = title_of(key)
    if group == Group.EVENT:
        key = conversion_title(space, key)
    return f"{title}: {key}"
