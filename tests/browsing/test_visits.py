"""Visits and touchpoints from page views: which page views start a visit, and which make a touchpoint."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg
import pytest

from headwater.events.browsing.accepted import AcceptedBots, AcceptedHit
from headwater.sources.catalogue import SOURCES
from tests.conftest import Running, client_for
from tests.merging.test_unmerge_properties import undo
from tests.support.pipeline import DAY, MINUTE, T0, Stage, add_sender, event, hit, new_stage, person, touch

PAGE = "https://shop.example/shoes"
GOOGLE = "https://www.google.com/"
INSIDE = "https://www.shop.example/"
AD = f"{PAGE}?utm_source=fb&utm_medium=cpc&utm_campaign="


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id)


def view(minute: float, **values: Any) -> AcceptedHit:
    """Return a page view of browser t1, `minute` minutes after T0, unless `values` override it."""
    moment = T0 + round(minute * MINUTE)
    return hit(**{"trk_token": "t1", "occurred_at": moment, "url": PAGE, **values})


def touches(stage: Stage) -> list[tuple[float, str]]:
    """Return the time of each page view's touchpoint, in minutes after T0, and its source."""
    rows = stage.rows("touchpoints", "extract(epoch FROM occurred_at)", "source_id", "by_hit")
    return [
        (float(seconds) / 60 - T0 / MINUTE, SOURCES[source - 1]) for seconds, source, by_hit in rows if by_hit
    ]


def in_minutes(stage: Stage) -> list[tuple[float, float]]:
    columns = [f"extract(epoch FROM {name}) / 60" for name in ("started_at", "last_hit_at")]
    return [
        (float(first) - T0 / MINUTE, float(last) - T0 / MINUTE)
        for first, last in stage.rows("visits", *columns)
    ]


def test_it_works(stage: Stage, client: httpx.Client) -> None:
    cookies = {"fbp": "fb.1.2"}
    _, _, _, event_id = stage.run(
        view(0, url=AD + "spring&utm_id=9", referrer=GOOGLE, cookies=cookies),
        view(10, referrer=INSIDE),
        view(39.9, referrer=INSIDE),
        event(trk_token="t1", amount="80", event_time=T0 + 60 * MINUTE),
    )
    assert in_minutes(stage) == [(0, pytest.approx(39.9))]
    assert touches(stage) == [(0, "facebook_ads")]
    columns = ("campaign_id", "campaign_name", "source_rule", "referrer_host", "cookies", "sent")
    assert stage.rows("touchpoints", *columns) == [
        ("9", "spring", "utm_source_paid", "google.com", cookies, False)
    ]
    parameters = {"start_date": "2025-10-01 00:00:00", "end_date": "2025-10-31 00:00:00",
                  "sources": "facebook_ads", "attribution_model": "last_touch",
                  "attribution_window": 7, "fields": ["id", "amount", "campaign_id"]}  # fmt: skip
    [row] = client.get("/events", params=parameters).json()["data"]
    assert (row["amount"], row["campaign_id"]) == (80, "9")
    assert str(row["id"]) == str(event_id)


def test_half_an_hour_without_a_page_view_ends_a_visit(stage: Stage) -> None:
    stage.run(view(0, referrer=GOOGLE), view(29.9, referrer=GOOGLE), view(59.9, referrer=GOOGLE))
    assert len(in_minutes(stage)) == 2
    assert touches(stage) == [(0, "google_organic"), (pytest.approx(59.9), "google_organic")]


def test_browsers_and_people_have_visits_of_their_own(stage: Stage) -> None:
    stage.run(view(0, referrer=GOOGLE), view(1, trk_token="t2", referrer=GOOGLE))
    stage.run(view(2, trk_token=None, fingerprint="f", ip="192.0.2.1", referrer=GOOGLE))
    stage.run(view(3, trk_token=None), view(4, trk_token=None))
    assert len(in_minutes(stage)) == 5


def test_another_campaign_in_a_visit_is_a_touch(stage: Stage) -> None:
    urls = ("", "a", "a", "", "b", "a")
    for minute, campaign in enumerate(urls):
        stage.run(view(minute, url=AD + campaign if campaign else PAGE))
    assert touches(stage) == [
        (0, "direct"), (1, "facebook_ads"), (4, "facebook_ads"), (5, "facebook_ads"),
    ]  # fmt: skip


def test_a_long_visit_remembers_its_campaign(stage: Stage) -> None:
    for minute in range(0, 200, 20):
        has_tag = minute in (0, 180)
        stage.run(view(minute, url=AD + "a" if has_tag else PAGE, referrer=None if has_tag else INSIDE))
    assert touches(stage) == [(0, "facebook_ads")]
    stage.run(view(90, url=AD + "b"))
    assert touches(stage) == [(minute, "facebook_ads") for minute in (0, 90, 180)]


@pytest.mark.parametrize("query", [
    "utm_source=banner", "utm_source=newsletter&utm_medium=email", "utm_campaign=home",
    "utm_source=google&utm_medium=cpc", "trk_source=facebook_ads", "utm_content=footer",
])  # fmt: skip
@pytest.mark.parametrize("page", [PAGE, "https://checkout.shop.example/"])
def test_a_tagged_link_on_an_own_page_begins_nothing(stage: Stage, query: str, page: str) -> None:
    stage.run(view(0, url=AD + "a"))
    stage.run(view(5, url=f"{PAGE}?{query}", referrer=page))
    # Coming back to the page of the ad starts no new campaign.
    stage.run(view(6, url=AD + "a"))
    assert touches(stage) == [(0, "facebook_ads")]
    assert stage.values("hits", "touch->>'own_link'").count("true") == 1


def test_a_tagged_link_on_an_own_page_may_begin_a_visit(stage: Stage) -> None:
    stage.run(view(0, url=f"{PAGE}?utm_source=newsletter", referrer=INSIDE))
    assert touches(stage) == [(0, "email")]


@pytest.mark.parametrize("host", ["www.paypal.com", "checkout.stripe.com", "accounts.google.com",
                                  "pay.bank.example", "acs1.bank.example"])  # fmt: skip
def test_a_return_from_payment_is_a_touch_with_other_tags_only(stage: Stage, host: str) -> None:
    referrer = f"https://{host}/"
    stage.run(view(0, url=AD + "a"), view(10, url=AD + "a", referrer=referrer))
    stage.run(view(15, referrer=referrer), view(80, referrer=referrer))
    assert touches(stage) == [(0, "facebook_ads")]
    stage.run(view(85, url=AD + "b", referrer=referrer))
    assert touches(stage)[1:] == [(85, "facebook_ads")]


@pytest.mark.parametrize("minutes_before", [0, 30])
def test_a_direct_visit_close_after_a_touch_makes_none(stage: Stage, minutes_before: int) -> None:
    stage.run(person(email="a@b.org", trk_token="t1"), person(email="a@b.org", trk_token="t2"))
    stage.run(view(0, trk_token="t2", referrer=GOOGLE), view(minutes_before))
    assert touches(stage) == [(0, "google_organic")]
    stage.run(view(61))
    assert touches(stage)[1:] == [(61, "direct")]


@pytest.mark.parametrize("limit", [1, 10])
def test_a_late_touch_takes_a_direct_one_away(stage: Stage, limit: int) -> None:
    stage.put(view(20), event(trk_token="t1", trk_source="sms", event_time=T0))
    stage.process(limit)
    assert touches(stage) == []


def test_direct_visits_do_not_take_each_other_away(stage: Stage) -> None:
    stage.run(person(email="a@b.org", trk_token="t1"), person(email="a@b.org", trk_token="t2"))
    stage.run(view(0), view(10, trk_token="t2"))
    assert touches(stage) == [(0, "direct"), (10, "direct")]


@pytest.mark.parametrize("limit", [1, 10])
def test_a_touch_that_goes_brings_a_direct_one_back(stage: Stage, limit: int) -> None:
    stage.run(person(email="a@b.org", trk_token="t1"), person(email="a@b.org", trk_token="t2"))
    stage.put(view(20, referrer=GOOGLE), view(45, trk_token="t2"))
    stage.process(limit)
    assert touches(stage) == [(20, "google_organic")]
    stage.run(view(0, referrer=GOOGLE))
    assert touches(stage) == [(0, "google_organic"), (45, "direct")]


@pytest.mark.parametrize("limit", [1, 10])
def test_late_page_views_join_visits(stage: Stage, limit: int) -> None:
    stage.put(view(0, referrer=GOOGLE), view(50, referrer=GOOGLE), view(25, referrer=GOOGLE))
    stage.process(limit)
    assert in_minutes(stage) == [(0, 50)]
    assert touches(stage) == [(0, "google_organic")]
    assert len(set(stage.values("hits", "visit_id"))) == 1


@pytest.mark.parametrize("limit", [1, 10])
def test_the_same_again_changes_nothing(stage: Stage, limit: int) -> None:
    once = view(0, referrer=GOOGLE)
    stage.put(once, view(10, referrer=INSIDE), once, once)
    stage.process(limit)
    before = stage.dump()
    [repeat_id] = stage.run(once)
    assert stage.rows("duplicates", "reason", "event_id") == [("repeated_hit", None)] * 3
    assert repeat_id in stage.values("duplicates", "id")
    after = stage.dump()
    assert len(after.pop("duplicates")) == len(before.pop("duplicates")) + 1
    assert before == after


@pytest.mark.parametrize(
    ("settings", "referrer", "sources"),
    [
        ({}, "https://blog.brand.example/", ["referral"]),
        ({"own_domains": ["brand.example"]}, "https://blog.brand.example/", []),
        ({"excluded_referrers": ["bank.example"]}, "https://bank.example/", []),
        ({}, "https://www.klarna.com/", []),
        ({"heeded_referrers": ["klarna.com"]}, "https://www.klarna.com/", ["referral"]),
        ({}, "https://other.example/", []),
    ],
)
def test_where_nothing_comes_from(
    connection: psycopg.Connection, settings: dict[str, Any], referrer: str, sources: list[str]
) -> None:
    stage = new_stage(connection, **settings)
    connection.execute(
        "INSERT INTO sites (space_id, name, site_key, origins) VALUES (%s, 's', %s, %s)",
        (stage.space_id, f"key {stage.space_id}", ["https://other.example"]),
    )
    stage.run(view(0, referrer=referrer))
    assert [source for _, source in touches(stage)] == sources
    assert len(in_minutes(stage)) == 1


def test_a_click_that_was_somebody_else_s_says_nothing(stage: Stage) -> None:
    clicked = f"{PAGE}?gclid=abc&gad_source=1&gad_campaignid=7"
    stage.run(view(0, url=clicked))
    stage.run(view(DAY / MINUTE, url=clicked, trk_token="t2"))
    stage.run(view(DAY / MINUTE + 1, url=clicked, trk_token="t3"))
    stage.run(view(9 * DAY / MINUTE, url=clicked))
    sources = [source for _, source in touches(stage)]
    assert sources == ["google_ads", "google_ads", "direct", "google_ads"]
    stale = stage.rows("hits", "occurred_at", "touch -> 'stale'", "campaign")[2]
    assert stale[1:] == (["gclid"], None)


def test_a_stale_click_is_no_other_campaign(stage: Stage) -> None:
    stage.run(view(0, trk_token="t2", url=f"{PAGE}?gclid=abc"))
    stage.run(view(5000, referrer=GOOGLE), view(5001, url=f"{PAGE}?gclid=abc"))
    assert [source for _, source in touches(stage)] == ["google_ads", "google_organic"]


@pytest.mark.parametrize("limit", [1, 10])
def test_an_event_that_says_what_its_page_view_said_makes_no_touch(stage: Stage, limit: int) -> None:
    stage.put(
        view(0, url=f"{PAGE}?utm_source=google&utm_medium=cpc&utm_campaign=spring"),
        event(trk_token="t1", trk_source="google_ads", trk_campaign="spring",
              event_time=T0 + 30 * MINUTE),
        touch(trk_token="t1", source="google_ads", campaign_name="spring",
              occurred_at=T0 + 10 * MINUTE),
    )  # fmt: skip
    stage.process(limit)
    assert len(stage.values("touchpoints", "id")) == 1
    assert stage.values("duplicates", "reason") == ["repeated_touch"]


def test_earlier_page_views_reach_stored_events(stage: Stage) -> None:
    stage.run(event(trk_token="t1", event_time=T0 + 60 * MINUTE))
    stage.run(view(0, referrer=GOOGLE))
    [mask], [source] = stage.values("events", "source_mask"), stage.values("hits", "source_id")
    assert mask >> source & 1


def test_bots_are_only_counted(stage: Stage) -> None:
    row = stage.connection.execute(
        "INSERT INTO sites (space_id, name, site_key, origins) VALUES (%s, 's', %s, '{}') RETURNING id",
        (stage.space_id, f"key {stage.space_id}"),
    ).fetchone()
    assert row is not None
    stage.run(AcceptedBots(site_id=row[0], hits=2), AcceptedBots(site_id=row[0], hits=3))
    assert stage.values("sites", "bot_hits") == [5]
    assert stage.values("contacts", "id") == []


def test_a_poisoned_page_view_is_set_aside_alone(stage: Stage) -> None:
    stage.put(view(0), view(1, key="no key"), view(2, referrer=GOOGLE))
    unreadable = stage.put_row("hit", '{"url": "https://shop.example/"}')
    result = stage.process()
    assert result.rejected == 2
    assert stage.rows("rejected", "id", "reason")[-1] == (unreadable, "unreadable_payload")
    assert len(stage.values("hits", "id")) == 2
    assert in_minutes(stage) == [(0, 2)]


def test_its_receipt_is_not_wrong(stage: Stage, server: Running, make_key: Any) -> None:
    first = view(0)
    stored_id, repeated_id = stage.run(first, first)
    with client_for(server, make_key(stage.space_id)) as client:
        receipts = [client.get(f"/receipts/{receipt}").json() for receipt in (stored_id, repeated_id)]
    assert [(receipt["status"], receipt["event_id"], receipt["reason"]) for receipt in receipts] == [
        ("stored", None, None), ("duplicate", None, "repeated_hit"),
    ]  # fmt: skip


# --------------------------------------------------------------------------------- merges


@pytest.mark.parametrize("limit", [1, 10])
def test_a_visit_goes_on_through_a_merge(stage: Stage, limit: int) -> None:
    stage.run(person(email="ada@acme.com"))
    stage.put(
        view(0, referrer=GOOGLE), person(email="ada@acme.com", trk_token="t1"),
        view(10, referrer=INSIDE), view(20),
    )  # fmt: skip
    stage.process(limit)
    assert in_minutes(stage) == [(0, 20)]
    assert touches(stage) == [(0, "google_organic")]
    [contact] = set(stage.values("hits", "contact_id"))
    [company] = stage.values("companies", "id")
    assert stage.rows("visits", "contact_id", "company_id") == [(contact, company)]
    assert set(stage.values("touchpoints", "contact_id")) == {contact}


def test_undoing_the_merge_divides_it(stage: Stage, database_url: str) -> None:
    stage.run(person(email="ada@acme.com"))
    stage.run(view(0, referrer=GOOGLE), view(5, referrer=INSIDE))
    [_, other_id] = stage.values("contacts", "id")
    stage.run(person(email="ada@acme.com", trk_token="t1"))
    stage.run(view(10, referrer=INSIDE), view(20, referrer=INSIDE))
    undo(database_url, stage, other_id)
    assert sorted(in_minutes(stage)) == [(0, 5), (10, 20)]
    visits = dict(stage.rows("visits", "id", "contact_id"))
    assert len(visits) == 2
    for contact, visit in stage.rows("hits", "contact_id", "visit_id"):
        assert visits[visit] == contact
    assert stage.values("touchpoints", "contact_id") == [other_id]


def test_visits_of_one_browser_join_when_somebody_returns_after_a_merge(
    stage: Stage, database_url: str
) -> None:
    """Two contacts in one browser turn out to be one person; a page view then falls between both visits."""
    stage.run(person(tracking_id="u1", email="a@b.org", trk_token="t1"))
    stage.run(view(0, referrer=GOOGLE))
    stage.run(person(tracking_id="u2", email="c@b.org", trk_token="t1"))
    stage.run(view(40, referrer=GOOGLE))
    [_, other_id] = stage.values("contacts", "id")
    stage.run(add_sender("api_key", person(tracking_id="u1", email="c@b.org", trk_token="t1")))
    assert touches(stage) == [(0, "google_organic"), (40, "google_organic")]
    stage.run(view(20, referrer=INSIDE))
    assert in_minutes(stage) == [(0, 40)]
    assert touches(stage) == [(0, "google_organic")]
    undo(database_url, stage, other_id)
    assert sorted(in_minutes(stage)) == [(0, 20), (40, 40)]
