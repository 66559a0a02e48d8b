"""Visits: page views in one browser with pauses under 30 minutes. They only grow and merge, so the result
doesn't depend on the order of arrival. Pure.
"""

from __future__ import annotations

from operator import attrgetter

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
# Until the 10:20 page view arrives there are two visits, because their page views are 45 minutes
# apart, and each page view claims a touch because it begins its visit. The 10:20 one is within 30
# minutes of both, so the visits merge. Without a campaign, the 10:45 page view would then give up
# its claim, because it no longer begins a visit. The purchase belongs to no visit;
# `intake/pipeline/paths.py` decides which touches come before it.

_BY_TIME = attrgetter("occurred_at", "id")


class Visit:
    """A visit, from its first to its last page view, in µs since 1970. Holds only candidate page views close
    to the batch's.
    """

    __slots__ = ("device", "first", "id", "into", "is_changed", "is_stored", "last", "owner", "views")

    def __init__(self, visit_id: int, device: str, owner: Contact, first: int, last: int) -> None:
        self.id = visit_id
        self.device = device
        self.owner = owner
        """The contact when it began or was loaded."""
        self.first = first
        self.last = last
        self.views: list[View] = []
        self.into: Visit | None = None
        self.is_stored = False
        self.is_changed = False

    def surviving(self) -> Visit:
        visit = self
        while visit.into is not None:
            visit = visit.into
        return visit

    def is_near(self, moment: int) -> bool:
        return self.first - HALF_HOUR < moment < self.last + HALF_HOUR


def assign_view(visits: list[Visit], view: View) -> list[View]:
    """Add a page view to its visit, which it may begin or merge. Return page views with changed claims.

    `visits` are the contact's in the view's browser.
    """
    near_visits = sorted((visit for visit in visits if visit.is_near(view.occurred_at)), key=attrgetter("id"))
    if not near_visits:
        visit = Visit(view.id, view.device, view.owner, view.occurred_at, view.occurred_at)
        visits.append(visit)
    else:
        visit, *later_visits = near_visits
        for merged_visit in later_visits:
            _merge(visit, merged_visit)
            visits.remove(merged_visit)
    view.visit = visit
    visit.is_changed = True
    # A page view that does not begin its visit now never will. Views from the site's own links are kept to be
    # counted.
    is_tagged = view.campaign is not None or view.origin.own_link
    view.is_candidate = view.occurred_at <= visit.first or is_tagged
    visit.first, visit.last = min(visit.first, view.occurred_at), max(visit.last, view.occurred_at)
    if view.is_candidate:
        visit.views.append(view)
        visit.views.sort(key=_BY_TIME)
    elif len(near_visits) < 2:
        return []
    return _decide(visit)


def _merge(visit: Visit, absorbed: Visit) -> None:
    absorbed.into = visit
    visit.first, visit.last = min(visit.first, absorbed.first), max(visit.last, absorbed.last)
    visit.views = sorted(visit.views + absorbed.views, key=_BY_TIME)


def _decide(visit: Visit) -> list[View]:
    """Claim a touch for page views that begin the visit or change its campaign, except by links on the site's
    own pages.
    """
    campaign: str | None = None
    changed_views: list[View] = []
    for index, view in enumerate(visit.views):
        is_first = index == 0 and view.occurred_at == visit.first
        differs = view.campaign is not None and view.campaign != campaign
        if view.campaign is not None:
            campaign = view.campaign
        claims = view.origin.source_id is not None and (is_first or differs)
        if claims != view.claims and not view.is_context:
            view.claims = claims
            changed_views.append(view)
    return changed_views
