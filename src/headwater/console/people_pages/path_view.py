"""Parameters of an event's page: the window, and a path by contact or company."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self
from urllib.parse import urlencode

from headwater.attribution.models import WINDOWS
from headwater.console.report_pages.bar import MODES, Choice, Menu, window_title
from headwater.events.filters import QUERY_MODE
from headwater.http.inputs.parameters import Query
from headwater.reports.questions.shared import WINDOW


@dataclass(frozen=True)
class PathView:
    window_days: int = 30
    """Maximum days from a touchpoint to the event; 0 is unlimited."""
    query_mode: str = "profile"

    @classmethod
    def read(cls, query: Query) -> Self:
        """Raise Invalid with every error."""
        window, mode = WINDOW.read(query), QUERY_MODE.read(query)
        query.finish()
        return cls(window or 0, mode or "profile")

    @property
    def by_company(self) -> bool:
        """Return whether the path covers the contact's whole company."""
        return self.query_mode == "company"

    @property
    def window(self) -> str:
        return window_title(str(self.window_days))

    def link(self, path: str) -> str:
        """Omit defaults."""
        usual_view = PathView()
        pairs: list[tuple[str, str]] = []
        if self.window_days != usual_view.window_days:
            pairs.append(("attribution_window", str(self.window_days)))
        if self.query_mode != usual_view.query_mode:
            pairs.append(("query_mode", self.query_mode))
        return f"{path}?{urlencode(pairs)}" if pairs else path

    def with_window(self, days: int) -> Self:
        return replace(self, window_days=days)

    def menus(self, path: str) -> tuple[Menu, ...]:
        windows = tuple(
            Choice(window_title(str(days)), self.with_window(days).link(path), days == self.window_days)
            for days in WINDOWS
        )
        modes = tuple(
            Choice(text, replace(self, query_mode=mode).link(path), mode == self.query_mode)
            for mode, text in MODES.items()
        )
        return (
            Menu("attribution_window", "Window", self.window, windows),
            Menu("query_mode", "By", MODES[self.query_mode], modes),
        )
