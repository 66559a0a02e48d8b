"""The bar above every report: current choices and links to alternatives.

Links instead of a form need one step, no script, and leave nothing half chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from headwater.attribution.models import MODELS, WINDOWS
from headwater.console.report_pages.view import ANY, CONVERSIONS, SALES, ReportView
from headwater.reports.engine.groups import CUSTOMERS
from headwater.reports.engine.path_dimensions import TouchPath
from headwater.reports.query import OF_TOUCHES, Comparison, DateBasis, Group
from headwater.reports.questions.paths import BY
from headwater.sources.ad_platforms import platform_title
from headwater.sources.catalogue import CHANNELS
from headwater.sources.titles import format_title
from headwater.spaces.models import Space

PERIODS = {
    "d": "today",
    "y": "yesterday",
    "w": "last 7 days",
    "t": "last 30 days",
    "m": "this month",
    "l": "last month",
    "q": "this quarter",
    "n": "last 90 days",
    "a": "this year",
    "b": "last 12 months",
}
COMPARISONS = {
    Comparison.PREVIOUS_PERIOD: "the period before",
    Comparison.PREVIOUS_YEAR: "the year before",
    Comparison.NONE: "nothing",
}
MODES = {"profile": "person", "company": "company"}
BASES = {DateBasis.CONVERSION: "date of the conversion", DateBasis.TOUCH: "date of the touchpoint"}
SHAREABLE = {"": "Revenue", "/models": "Compare models", "/paths": "Paths"}
"""Pages that can be shared, by path: those without personal data."""
OF_TOUCHPOINTS = "of_touchpoints"
ONLY_PLACES = "only_places"
"""Where this is excluded, filters apply only to ad account levels."""
PLACE_GROUPS = (Group.PLATFORM, Group.SOURCE, Group.CAMPAIGN, Group.ADSET)
FILTER_GROUPS = (
    Group.PLATFORM,
    Group.SOURCE,
    Group.CAMPAIGN,
    Group.AD,
    Group.KEYWORD,
    Group.LANDING_PAGE,
    Group.COUNTRY,
    Group.COMPANY,
    Group.CONTACT,
)
"""Groups with many keys, where the user types the key."""
_GROUP_TITLES = {
    Group.LANDING_PAGE: "landing page",
    Group.ADSET: "ad set",
    Group.CHANNEL_PATH: "path",
    Group.FIRST_SOURCE: "first source",
    Group.LAST_SOURCE: "last source",
    Group.TOUCH_RANGE: "touchpoints",
    Group.DAYS_RANGE: "days",
    Group.SELF_REPORTED_SOURCE: "self-reported source",
}
_OF_SOURCES = frozenset(
    {Group.CHANNEL, Group.SOURCE, Group.FIRST_SOURCE, Group.LAST_SOURCE, Group.SELF_REPORTED_SOURCE}
)


@dataclass(frozen=True)
class Choice:
    text: str
    link: str
    chosen: bool
    key: str = ""
    """Keyboard shortcut, if scripts run."""


@dataclass(frozen=True)
class Menu:
    name: str
    title: str
    chosen: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Filter:
    text: str
    link: str


@dataclass(frozen=True)
class ReportBar:
    path: str
    period: Menu
    menus: tuple[Menu, ...]
    filters: tuple[Filter, ...]
    pairs: tuple[tuple[str, str], ...]
    """Current choices as query parameters, kept by the filter form."""
    start_date: str
    end_date: str
    today: str
    new_filters: tuple[Choice, ...]
    groups: Mapping[str, str]
    """Titles of the groups whose key is typed."""

    @property
    def undated(self) -> tuple[tuple[str, str], ...]:
        """Choices kept by the date form."""
        dates = {"start_date", "end_date", "period"}
        return tuple(pair for pair in self.pairs if pair[0] not in dates)

    @property
    def shareable(self) -> bool:
        return self.end in SHAREABLE

    @property
    def query(self) -> str:
        return urlencode(self.pairs)

    @property
    def end(self) -> str:
        return "/".join(["", *self.path.split("/")[4:]])


def read_bar(
    space: Space,
    view: ReportView,
    path: str,
    *,
    without: frozenset[str] = frozenset(),
    also: Mapping[str, str | Sequence[str]] | None = None,
    filters: tuple[Filter, ...] = (),
) -> ReportBar:
    """Build a page's bar. `without` names choices that the page lacks, `also` its own choices, which links
    keep, and `filters` the filters it sets itself.
    """
    links, of_events = ChoiceLinks(view, path, also or {}), OF_TOUCHPOINTS in without
    menus = [
        links.menu("compare", "Compared with", COMPARISONS),
        links.menu("conversion", "Conversion", _conversions(space)),
        links.menu("attribution_model", "Model", _MODELS),
        links.menu("attribution_window", "Window", _WINDOWS),
        links.menu("query_mode", "By", MODES),
        links.menu("date_basis", "Dated by", BASES),
    ]
    return ReportBar(
        path,
        links.periods(),
        tuple(menu for menu in menus if menu.name not in without),
        (*links.filters(space), *filters),
        tuple(links.pairs),
        view.start_date[:10],
        view.end_date[:10],
        datetime.now(space.zone).date().isoformat(),
        () if ONLY_PLACES in without else links.new_filters(of_events=of_events),
        {str(group): _GROUP_TITLES.get(group, str(group)) for group in _typed_groups(without)},
    )


def _typed_groups(without: frozenset[str]) -> list[Group]:
    if ONLY_PLACES in without:
        return [*PLACE_GROUPS]
    of_events = OF_TOUCHPOINTS in without
    return [group for group in FILTER_GROUPS if not (of_events and group in OF_TOUCHES)]


@dataclass(frozen=True)
class ChoiceLinks:
    view: ReportView
    path: str
    also: Mapping[str, str | Sequence[str]]

    def menu(self, name: str, title: str, options: Mapping[Any, str]) -> Menu:
        choice: str = getattr(self.view, name)
        choices = tuple(
            Choice(text, self._to(self.view.changed(**{name: str(option)})), option == choice)
            for option, text in options.items()
        )
        return Menu(name, title, options.get(choice) or choice, choices)

    def own_menu(self, name: str, title: str, options: Mapping[Any, str], choice: str, usual: str) -> Menu:
        choices: list[Choice] = []
        for option, text in options.items():
            also = {key: value for key, value in self.also.items() if key != name}
            if option != usual:
                also[name] = str(option)
            choices.append(Choice(text, self.view.link(self.path, **also), option == choice))
        return Menu(name, title, options.get(choice) or choice, tuple(choices))

    def periods(self) -> Menu:
        view = self.view
        choices = tuple(
            Choice(
                text.capitalize(),
                self._to(view.changed(period=text, start_date="", end_date="")),
                text == view.period,
                key,
            )
            for key, text in PERIODS.items()
        )
        dates = f"{view.start_date[:10]} to {view.end_date[:10]}"
        return Menu("period", "Period", (view.period or dates).capitalize(), choices)

    def filters(self, space: Space) -> tuple[Filter, ...]:
        only = self.view.only
        return tuple(
            Filter(
                filter_text(space, *text.split(":", 1)),
                self._to(self.view.changed(only=tuple(condition for condition in only if condition != text))),
            )
            for text in only
            if ":" in text
        )

    def new_filters(self, *, of_events: bool) -> tuple[Choice, ...]:
        """Return one-click filters: new or returning customers, and channels unless filters apply to events.
        They replace filters of their group.
        """
        texts = {f"{Group.CUSTOMER}:{key}": f"{key} customers" for key in CUSTOMERS.texts}
        if not of_events:
            texts |= {f"{Group.CHANNEL}:{key}": format_title(key) for key in CHANNELS}
        return tuple(
            Choice(title[:1].upper() + title[1:], self._to(self.view.narrowed(text)), text in self.view.only)
            for text, title in texts.items()
        )

    @property
    def pairs(self) -> list[tuple[str, str]]:
        pairs = self.view.pairs
        for name, value in self.also.items():
            pairs += [(name, text) for text in ([value] if isinstance(value, str) else value)]
        return pairs

    def _to(self, view: ReportView) -> str:
        return view.link(self.path, **self.also)


def model_title(name: str) -> str:
    """Return an unknown name unchanged."""
    return MODELS[name].title if name in MODELS else name


def window_title(days: str) -> str:
    if days == "0":
        return "any time"
    return f"{days} day{'s' * (days != '1')}"


_MODELS = {name: model_title(name) for name in MODELS}
_WINDOWS = {str(days): window_title(str(days)) for days in WINDOWS}


def conversion_title(space: Space, name: str) -> str:
    if name in (SALES, ANY):
        return {SALES: "sales", ANY: "any event"}[name]
    return space.event_labels.get(name, "") or name.replace("_", " ")


def _conversions(space: Space) -> dict[str, str]:
    return {
        name: conversion_title(space, name)
        for name in CONVERSIONS
        if not name.startswith("custom_event_") or name in space.event_labels
    }


def filter_text(space: Space, group: str, key: str) -> str:
    title = _GROUP_TITLES.get(Group(group), group) if group in set(Group) else group
    if not key:
        return f"no {title}"
    if group in _OF_SOURCES:
        key = format_title(key)
    if group == Group.PLATFORM:
        key = platform_title(key)
    if group in BY.values():
        key = _path_text(key)
    if group == Group.EVENT:
        key = conversion_title(space, key)
    return f"{title}: {key}"


def _path_text(key: str) -> str:
    path = TouchPath.read(key)
    if path is None:
        return key
    return str(TouchPath(tuple(format_title(step) for step in path.steps), path.more))
