"""The sidebar: eight entries, and the pages of each as tabs."""

from __future__ import annotations

from msgspec import Struct

from headwater.spaces.accounts.roles import Permission


class Tab(Struct, frozen=True):
    title: str
    end: str
    """The path below the Space's."""
    prefixes: tuple[str, ...] = ()
    """Starts of other paths that belong to it."""
    query: str = ""
    """Choices that make it another tab of the same page."""
    permission: Permission = Permission.READ
    has_period: bool = False
    """The page shows figures of a period. Links between such pages keep the period."""

    @property
    def link(self) -> str:
        return f"{self.end}?{self.query}" if self.query else self.end

    def contains(self, end: str) -> bool:
        return end == self.end or end.startswith(
            tuple(f"{start}/" for start in (self.end, *self.prefixes) if start)
        )


class Entry(Struct, frozen=True):
    title: str
    icon: str
    """An SVG path in a box of 16 by 16."""
    tabs: tuple[Tab, ...]


ORDERS = Tab("Orders", "/events")
ALL_EVENTS = Tab("All events", "/events", query="conversion=any")

ENTRIES = (
    Entry("Overview", "M2 8 8 2.5 14 8M4 6.5V13.5H12V6.5", (Tab("Overview", "", has_period=True),)),
    Entry(
        "Channels",
        "M2.5 13.5V9M6.2 13.5V5M9.8 13.5V7.5M13.5 13.5V2.5",
        (
            Tab("Performance", "/channels", has_period=True),
            Tab("Models", "/models", has_period=True),
            Tab("Journeys", "/paths", has_period=True),
            Tab("Post-purchase survey", "/self-reported", has_period=True),
        ),
    ),
    Entry(
        "Ads",
        "M2.5 6.5V9.5H5L11.5 13V3L5 6.5ZM13.5 6.5V9.5",
        (
            Tab("Performance", "/campaigns", has_period=True),
            Tab("Platform comparison", "/ads/comparison", has_period=True),
            Tab("Ad spend data", "/spend"),
        ),
    ),
    Entry(
        "Customers",
        "M8 7.5A2.5 2.5 0 1 0 8 2.5 2.5 2.5 0 0 0 8 7.5ZM2.5 13.5C3 10.5 5.5 9.5 8 9.5S13 10.5 13.5 13.5",
        (
            Tab("Cohorts", "/cohorts"),
            Tab("People", "/people", ("/contacts",)),
            Tab("Companies", "/companies"),
        ),
    ),
    Entry(
        "Orders",
        "M2 3H4L5.5 10.5H12.5L14 5H4.5M6.5 13.5H6.6M11.5 13.5H11.6",
        (ORDERS, ALL_EVENTS, Tab("Live", "/live"), Tab("Compare orders", "/order-comparison")),
    ),
    Entry(
        "Connections",
        "M6.5 9.5 9.5 6.5M7 4.5 8.5 3A3 3 0 0 1 13 7.5L11.5 9M9 11.5 7.5 13A3 3 0 0 1 3 8.5L4.5 7",
        (
            Tab("Overview", "/setup"),
            Tab("Website", "/sites"),
            Tab("Shop and payments", "/orders"),
            Tab("Ad platforms", "/platforms"),
            Tab("Assistants", "/mcp"),
            Tab("API keys", "/keys"),
            Tab("Data health", "/data-quality"),
        ),
    ),
    Entry(
        "Alerts",
        "M4 11.5V7A4 4 0 0 1 12 7V11.5L13.5 12.5H2.5ZM7 14.5H9",
        (Tab("Open", "/alerts"), Tab("Rules", "/alerts/rules"), Tab("Scheduled reports", "/alerts/reports")),
    ),
    Entry(
        "Settings",
        "M2.5 4.5H13.5M2.5 8H13.5M2.5 11.5H13.5M5.5 3V6M10.5 6.5V9.5M7 10V13",
        (
            Tab("General", "/settings"),
            Tab("Team", "/members"),
            Tab("Sources and naming", "/sources"),
            Tab("Currencies", "/rates"),
            Tab("Attribution", "/trained-models"),
            Tab("Share links", "/share-links"),
            Tab("Notes", "/notes"),
            Tab("Audit log", "/audit", permission=Permission.MANAGE_MEMBERS),
        ),
    ),
)

_PHONE = ("Overview", "Ads", "Orders")
ON_PHONE = tuple(entry for entry in ENTRIES if entry.title in _PHONE)
"""Entries at the bottom of a phone's screen, in front of the menu with all of them."""

MORE_PAGES = (
    Tab("Build a link", "/links"),
    Tab("What changed", "/changes"),
    Tab("How complete recent days are", "/completeness"),
    Tab("Switch Space", "?all"),
)
"""Pages without a tab, which the search finds."""

_ENTRIES_OF_PATHS = {"/links": "Ads", "/changes": "Channels", "/completeness": "Channels"}


class PagePlace(Struct, frozen=True):
    """The entry and the tab of a page; None for a page outside all of them."""

    entry: Entry | None
    tab: Tab | None


def find_place(end: str, tab: Tab | None = None) -> PagePlace:
    """Return the place of the page at a path below the Space's. A path of several tabs belongs to the first,
    unless the page names its `tab`.
    """
    places = [PagePlace(entry, tab) for entry in ENTRIES for tab in entry.tabs if tab.contains(end)]
    tab_place = next((place for place in places if place.tab == tab), None)
    if tab_place is not None:
        return tab_place
    if places:
        return max(places, key=lambda place: len(place.tab.end) if place.tab else 0)
    title = _ENTRIES_OF_PATHS.get("/" + end.split("/")[1] if end else "")
    return PagePlace(next((entry for entry in ENTRIES if entry.title == title), None), None)
