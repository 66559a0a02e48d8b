"""Visits: runs of page views in one browser without half an hour between two. They only grow and
join as page views come, so the result does not depend on the order of arrival. Pure.
"""

from __future__ import annotations

from headwater.events.browsing.views import View
from headwater.events.touchpoints.models import HALF_HOUR
from headwater.people.identity.directory import Contact

# One browser, three page views, two campaigns. They may arrive in any order; the result is the
# same:
#
#     10:00               10:20               10:45          11:30
#     page view           page view           page view      purchase
#     campaign spring     no campaign         campaign summer
#     |---------- visit, 10:00 to 10:45 ------|
#     claims a touch:     claims none:        claims a touch:
#     begins the visit    goes on             another campaign than spring
#
# Until the page view of 10:20 has arrived there are two visits, as 45 minutes lie between them, and
# each page view claims a touch because it begins its own. The one of 10:20 is within half an hour
# of both, so they become one. If that of 10:45 had no campaign, it would give its claim back then:
# it begins nothing any more. The purchase belongs to no visit; `intake/pipeline/paths.py` says
# which touches lie before it.


class Visit:
    """A visit, from its first page view to its last, in µs since 1970. It holds only the page views
    that could make a touchpoint and lie near the batch's.
    """

    __slots__ = ("changed", "device", "first", "id", "into", "is_stored", "last", "owner", "views")

    def __init__(self, visit_id: int, device: str, owner: Contact, first: int, last: int) -> None:
        self.id = visit_id
        self.device = device
        self.owner = owner
        """The contact it had when it began, or was loaded."""
        self.first = first
        self.last = last
        self.views: list[View] = []
        self.into: Visit | None = None
        """The visit that this one has become part of."""
        self.is_stored = False
        self.changed = False

    def final(self) -> Visit:
        """The visit this one has ended up in: itself unless joined."""
        visit = self
        while visit.into is not None:
            visit = visit.into
        return visit

    def is_near(self, at: int) -> bool:
        """Return whether a page view at this moment belongs to it."""
        return self.first - HALF_HOUR < at < self.last + HALF_HOUR


def place(visits: list[Visit], view: View) -> list[View]:
    """Put a page view in its visit, among the visits of its contact in its browser, which it may
    begin or join. Returns the page views that claim a touch since, or no longer do.
    """
    near = sorted((visit for visit in visits if visit.is_near(view.at)), key=_number)
    if not near:
        visit = Visit(view.id, view.device, view.owner, view.at, view.at)
        visits.append(visit)
    else:
        visit, *others = near
        for other in others:
            _join(visit, other)
            visits.remove(other)
    view.visit = visit
    visit.changed = True
    # A page view that does not begin its visit now never will, as visits only grow.
    # One from the site's own pages is kept like the others, as such links are counted.
    is_tagged = view.campaign is not None or view.origin.own_link
    view.is_candidate = view.at <= visit.first or is_tagged
    visit.first, visit.last = min(visit.first, view.at), max(visit.last, view.at)
    if view.is_candidate:
        visit.views.append(view)
        visit.views.sort(key=_moment)
    elif len(near) < 2:
        return []
    return _decide(visit)


def _join(visit: Visit, other: Visit) -> None:
    other.into = visit
    visit.first, visit.last = min(visit.first, other.first), max(visit.last, other.last)
    visit.views = sorted(visit.views + other.views, key=_moment)


def _decide(visit: Visit) -> list[View]:
    """Let page views claim a touch that begin the visit, or that have another campaign than the
    latest page view with a campaign before them. Links on the site's own pages begin nothing.
    """
    campaign: str | None = None
    changed: list[View] = []
    for place, view in enumerate(visit.views):
        begins = place == 0 and view.at == visit.first
        differs = view.campaign is not None and view.campaign != campaign
        if view.campaign is not None:
            campaign = view.campaign
        claims = view.origin.source_id is not None and (begins or differs)
        if claims != view.claims and not view.is_context:
            view.claims = claims
            changed.append(view)
    return changed


def _number(visit: Visit) -> int:
    return visit.id


def _moment(view: View) -> tuple[int, int]:
    return view.at, view.id
