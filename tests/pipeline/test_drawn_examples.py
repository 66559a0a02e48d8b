"""The examples drawn in the comments of the visit and path algorithms, executed."""

from __future__ import annotations

import pytest

from headwater.events.browsing.views import View, ViewOrigin
from headwater.events.touchpoints.models import DIRECTLY, Touch
from headwater.intake.pipeline.paths import ContactPath
from headwater.people.identity.directory import Contact
from headwater.sources.catalogue import SOURCE_IDS
from headwater.sources.outcomes import Ad

MINUTE = 60 * 1_000_000
SOMEBODY = Contact(1, 0)
PHONE, LAPTOP = "phone", "laptop"


def clock_time(clock: str) -> int:
    hours, minutes = clock.split(":")
    return (int(hours) * 60 + int(minutes)) * MINUTE


def view(number: int, clock: str, source: str, campaign: str | None, device: str = PHONE) -> View:
    rule = DIRECTLY if source == "direct" else "click_id"
    page_view = View(number, clock_time(clock), device, SOMEBODY)
    page_view.origin = ViewOrigin(rule, SOURCE_IDS[source], Ad(campaign_name=campaign))
    page_view.campaign = campaign
    return page_view


def arrive(path: ContactPath, *views: View) -> None:
    for page_view in views:
        path.add_view(page_view)


def bits(*sources: str) -> int:
    return sum(1 << SOURCE_IDS[source] for source in sources)


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 1, 0), (1, 2, 0)])
def test_one_visit_of_two_campaigns(order: tuple[int, ...]) -> None:
    views = [
        view(1, "10:00", "google_ads", "spring"),
        view(2, "10:20", "google_ads", None),
        view(3, "10:45", "google_ads", "summer"),
    ]
    arrive(ContactPath(0), *(views[index] for index in order))
    assert [page_view.claims for page_view in views] == [True, False, True]
    assert {(page_view.visit.surviving().first, page_view.visit.surviving().last) for page_view in views} == {
        (clock_time("10:00"), clock_time("10:45"))
    }


def test_a_joined_visit_loses_its_beginning() -> None:
    spring = view(1, "10:00", "google_ads", "spring")
    plain = view(2, "10:45", "google_ads", None)
    path = ContactPath(0)
    arrive(path, spring, plain)
    assert plain.is_touch
    arrive(path, view(3, "10:20", "google_ads", None))
    assert (spring.is_touch, plain.is_touch) == (True, False)


def journey() -> tuple[View, View, View]:
    return (
        view(1, "10:00", "google_ads", "spring"),
        view(2, "10:20", "facebook_ads", "summer"),
        view(3, "10:40", "direct", None, LAPTOP),
    )


def test_a_path_of_three_page_views() -> None:
    spring, summer, direct = journey()
    path = ContactPath(0)
    arrive(path, spring, summer, direct)
    purchase = path.add_event(clock_time("11:00"))
    assert [spring.is_touch, summer.is_touch, direct.is_touch] == [True, True, False]
    assert purchase.source_mask == bits("google_ads", "facebook_ads")


@pytest.mark.parametrize(("clock", "makes_one"), [("10:50", False), ("10:51", True)])
def test_a_direct_visit_gives_way_for_half_an_hour(clock: str, makes_one: bool) -> None:
    spring, summer, _ = journey()
    direct = view(3, clock, "direct", None, LAPTOP)
    arrive(ContactPath(0), spring, summer, direct)
    assert direct.is_touch is makes_one


def test_what_arrives_late_takes_a_direct_touch_back() -> None:
    spring, summer, direct = journey()
    path = ContactPath(0)
    arrive(path, spring, direct)
    purchase = path.add_event(clock_time("11:00"))
    assert direct.is_touch
    arrive(path, summer)
    assert not direct.is_touch
    assert purchase.source_mask == bits("google_ads", "facebook_ads", "direct")


@pytest.mark.parametrize(("clock", "is_repeated"), [("10:15", True), ("10:30", True), ("10:31", False)])
def test_a_campaign_named_again_makes_no_second_touch(clock: str, is_repeated: bool) -> None:
    path = ContactPath(0)
    arrive(path, journey()[0])
    ad = Ad(campaign_name="spring")
    google = SOURCE_IDS["google_ads"]
    second_touch = Touch(
        occurred_at=clock_time(clock), source_id=google, source_rule="trk_source", ad=ad, url=None
    )
    assert path.repeats(second_touch) is is_repeated


def test_merged_paths_are_one() -> None:
    path, other_path = ContactPath(0), ContactPath(0)
    purchase = path.add_event(clock_time("11:00"))
    arrive(other_path, journey()[0])
    path.absorb(other_path)
    assert purchase.source_mask == path.source_mask == bits("google_ads")
