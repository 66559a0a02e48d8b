"""The row of filters above every report: period, comparison, how credit is given, filters.

Links instead of a form need one step, no script, and leave nothing half chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar
from urllib.parse import urlencode

from msgspec import Struct

from headwater.attribution.models import MODELS, WINDOWS
from headwater.console.report_pages.credit_examples import EXAMPLES
from headwater.console.report_pages.figures import dates
from headwater.console.report_pages.filter_names import NAMES, suggest_key
from headwater.console.report_pages.view import ANY, CONVERSIONS, SALES, ReportView
from headwater.reports.engine.groups import CUSTOMERS
from headwater.reports.engine.path_dimensions import TouchPath
from headwater.reports.query import OF_TOUCHES, Comparison, DateBasis, DateTimeSpan, Group
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
    Comparison.PREVIOUS_PERIOD: "vs previous period",
    Comparison.PREVIOUS_YEAR: "vs previous year",
    Comparison.NONE: "no comparison",
}
MODES = {"profile": "the person's visits", "company": "visits of the whole company"}
BASES = {DateBasis.CONVERSION: "on the date of the order", DateBasis.TOUCH: "on the date of the visit"}
_CREDIT_HINTS = {
    "attribution_window": "How long before the order a visit counts.",
    "query_mode": "Whose visits count for an order.",
    "date_basis": "The day that shows an order's credit.",
}
SHAREABLE = {
    "": "Overview",
    "/channels": "Channels",
    "/models": "Models",
    "/paths": "Journeys",
    "/campaigns": "Ads",
    "/cohorts": "Cohorts",
}
"""Pages that can be shared, by path: their shared form has no personal data."""
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
    hint: str = ""
    example: tuple[int, ...] = ()
    """The credit of four visits in per cent, to draw."""


@dataclass(frozen=True)
class Menu:
    name: str
    title: str
    chosen: str
    choices: tuple[Choice, ...]
    hint: str = ""


class Filter(Struct, frozen=True):
    text: str
    link: str
    """The link that removes it."""
    suggestion: Choice | None = None
    """A listed name like the typed one, which is not listed."""


@dataclass(frozen=True)
class ReportBar:
    path: str
    period: Menu
    compare: Menu | None
    conversion: Menu | None
    credit: tuple[Menu, ...]
    """How credit is given: model, window, whose visits, date."""
    filters: tuple[Filter, ...]
    pairs: tuple[tuple[str, str], ...]
    """Current choices as query parameters, kept by the filter form."""
    start_date: str
    end_date: str
    today: str
    new_filters: tuple[Choice, ...]
    groups: Mapping[str, str]
    """Titles of the groups whose key is typed."""
    may_share: bool = True
    names: ClassVar[tuple[str, ...]] = NAMES

    @property
    def credit_title(self) -> str:
        """Return the model and the window in words."""
        chosen_titles = [
            menu.chosen for menu in self.credit if menu.name in ("attribution_model", "attribution_window")
        ]
        return ", ".join(chosen_titles) or "How credit is given"

    @property
    def undated(self) -> tuple[tuple[str, str], ...]:
        """Choices kept by the date form."""
        dates = {"start_date", "end_date", "period"}
        return tuple(pair for pair in self.pairs if pair[0] not in dates)

    @property
    def shareable(self) -> bool:
        return self.may_share and self.end in SHAREABLE

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
    absent_choices: frozenset[str] = frozenset(),
    page_choices: Mapping[str, str | Sequence[str]] | None = None,
    filters: tuple[Filter, ...] = (),
) -> ReportBar:
    """Build a page's bar. `absent_choices` names choices that the page lacks, `page_choices` has its own,
    which links keep, and `filters` the filters it sets itself.
    """
    links, is_of_events = ChoiceLinks(view, path, page_choices or {}), OF_TOUCHPOINTS in absent_choices
    credit = (
        links.models(),
        links.menu("attribution_window", "Window", WINDOW_TITLES),
        links.menu("query_mode", "Visits of", MODES),
        links.menu("date_basis", "Dated", BASES),
    )
    return ReportBar(
        path,
        links.periods(),
        None if "compare" in absent_choices else links.menu("compare", "Compared", COMPARISONS),
        None
        if "conversion" in absent_choices
        else links.menu("conversion", "Conversions", _conversions(space)),
        tuple(menu for menu in credit if menu.name not in absent_choices),
        (*links.conversion_filter(space, absent_choices), *links.filters(space), *filters),
        tuple(links.pairs),
        view.start_date[:10],
        view.end_date[:10],
        datetime.now(space.zone).date().isoformat(),
        () if ONLY_PLACES in absent_choices else links.new_filters(of_events=is_of_events),
        {str(group): _GROUP_TITLES.get(group, str(group)) for group in _typed_groups(absent_choices)},
    )


def _typed_groups(absent_choices: frozenset[str]) -> list[Group]:
    if ONLY_PLACES in absent_choices:
        return [*PLACE_GROUPS]
    is_of_events = OF_TOUCHPOINTS in absent_choices
    return [group for group in FILTER_GROUPS if not (is_of_events and group in OF_TOUCHES)]


class ChoiceLinks(Struct, frozen=True):
    view: ReportView
    path: str
    page_choices: Mapping[str, str | Sequence[str]]

    def menu(self, name: str, title: str, options: Mapping[Any, str]) -> Menu:
        choice: str = getattr(self.view, name)
        choices = tuple(
            Choice(text, self._link(self.view.change(**{name: str(option)})), option == choice)
            for option, text in options.items()
        )
        return Menu(name, title, options.get(choice) or choice, choices, _CREDIT_HINTS.get(name, ""))

    def models(self) -> Menu:
        """Return the menu of attribution models, each with a sentence and an example."""
        menu = self.menu("attribution_model", "Model", _MODELS)
        choices = tuple(
            replace(choice, hint=MODELS[name].description, example=EXAMPLES[name])
            for name, choice in zip(_MODELS, menu.choices, strict=True)
        )
        return replace(menu, choices=choices)

    def conversion_filter(self, space: Space, absent_choices: frozenset[str]) -> tuple[Filter, ...]:
        """Return what counts as a conversion as a filter, unless it is sales."""
        conversion = self.view.conversion
        if conversion == SALES or "conversion" in absent_choices:
            return ()
        title = conversion_title(space, conversion)
        return (Filter(f"conversion: {title}", self._link(self.view.change(conversion=SALES))),)

    def own_menu(self, name: str, title: str, options: Mapping[Any, str], choice: str, usual: str) -> Menu:
        choices: list[Choice] = []
        for option, text in options.items():
            parameters = {key: value for key, value in self.page_choices.items() if key != name}
            if option != usual:
                parameters[name] = str(option)
            choices.append(Choice(text, self.view.link(self.path, **parameters), option == choice))
        return Menu(name, title, options.get(choice) or choice, tuple(choices))

    def periods(self) -> Menu:
        view = self.view
        choices = tuple(
            Choice(
                text.capitalize(),
                self._link(view.change(period=text, start_date="", end_date="")),
                text == view.period,
                key,
            )
            for key, text in PERIODS.items()
        )
        return Menu("period", "Period", view.period.capitalize() or _write_dates(view), choices)

    def filters(self, space: Space) -> tuple[Filter, ...]:
        return tuple(self._filter(space, text) for text in self.view.only if ":" in text)

    def _filter(self, space: Space, text: str) -> Filter:
        group, key = text.split(":", 1)
        wider_view = self.view.change(
            only=tuple(other_filter for other_filter in self.view.only if other_filter != text)
        )
        suggested_key = suggest_key(group, key)
        suggestion = None
        if suggested_key is not None:
            suggestion = Choice(
                filter_text(space, group, suggested_key),
                self._link(wider_view.narrow(f"{group}:{suggested_key}")),
                chosen=False,
            )
        return Filter(filter_text(space, group, key), self._link(wider_view), suggestion)

    def new_filters(self, *, of_events: bool) -> tuple[Choice, ...]:
        """Return one-click filters: new or returning customers, and channels unless filters apply to events.
        They replace filters of their group.
        """
        texts = {f"{Group.CUSTOMER}:{key}": f"{key} customers" for key in CUSTOMERS.texts}
        if not of_events:
            texts |= {f"{Group.CHANNEL}:{key}": format_title(key) for key in CHANNELS}
        return tuple(
            Choice(title[:1].upper() + title[1:], self._link(self.view.narrow(text)), text in self.view.only)
            for text, title in texts.items()
        )

    @property
    def pairs(self) -> list[tuple[str, str]]:
        pairs = self.view.pairs
        for name, value in self.page_choices.items():
            pairs += [(name, text) for text in ([value] if isinstance(value, str) else value)]
        return pairs

    def _link(self, view: ReportView) -> str:
        return view.link(self.path, **self.page_choices)


def model_title(name: str) -> str:
    """Return an unknown name unchanged."""
    return MODELS[name].title if name in MODELS else name


def window_title(days: str) -> str:
    if days == "0":
        return "any time"
    return f"{days} day{'s' * (days != '1')}"


def describe_window(days: str) -> str:
    """Return a window in words, before the name of an event."""
    return "any time before" if days == "0" else f"within {window_title(days)} before"


_MODELS = {name: model_title(name) for name in MODELS}
WINDOW_TITLES = {str(days): window_title(str(days)) for days in WINDOWS}


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
    return str(TouchPath(tuple(format_title(step) for step in path.steps), path.further_steps))


def _write_dates(view: ReportView) -> str:
    try:
        start, end = map(datetime.fromisoformat, view.moments)
    except ValueError:  # as in the address, and refused
        return f"{view.start_date} to {view.end_date}"
    return dates(DateTimeSpan(start, end))
