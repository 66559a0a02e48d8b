"""Visits and their touchpoints, computed in the simplest way: from all page views of all contacts, sorted by
time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby

HALF_HOUR = 30 * 60_000


@dataclass(frozen=True)
class PageView:
    """A page view. `number` is its order of arrival, `time` is in ms."""

    number: int
    contact: str
    device: str
    time: int
    source: str | None
    campaign: str | None = None

    @property
    def is_direct(self) -> bool:
        return self.source == "direct" and self.campaign is None


@dataclass
class Visit:
    views: list[PageView] = field(default_factory=list)

    @property
    def touching_views(self) -> list[PageView]:
        """Return the page views that make a touchpoint, as far as the visit alone decides."""
        views, campaign = [], None
        for view in self.views:
            differs = view.campaign is not None and view.campaign != campaign
            if view.source is not None and (view is self.views[0] or differs):
                views.append(view)
            campaign = view.campaign or campaign
        return views


def find_visits(views: list[PageView]) -> list[Visit]:
    """Return the visits of these page views."""
    visits: list[Visit] = []
    ordered_views = sorted(views, key=lambda view: (view.contact, view.device, view.time, view.number))
    for _, device_views in groupby(ordered_views, key=lambda view: (view.contact, view.device)):
        visit = Visit()
        for view in device_views:
            if not visit.views or view.time - visit.views[-1].time >= HALF_HOUR:
                visit = Visit()
                visits.append(visit)
            visit.views.append(view)
    return visits


def select_touches(visits: list[Visit], other_touches: list[tuple[str, int]]) -> dict[int, str | None]:
    """Return the source of each page view that makes a touchpoint, by number. `other_touches` are the
    contacts and times of touchpoints not made by page views.
    """
    touching = [view for visit in visits for view in visit.touching_views]
    telling = other_touches + [(view.contact, view.time) for view in touching if not view.is_direct]

    def follows(view: PageView) -> bool:
        return any(
            contact == view.contact and 0 <= view.time - moment <= HALF_HOUR for contact, moment in telling
        )

    return {
        view.number: view.source
        for view in touching
        if not (view.is_direct and follows(view))
    }  # fmt: skip
