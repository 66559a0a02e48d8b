"""Touchpoints from events: when one is created, its contents, and the sources of a path."""

from __future__ import annotations

import psycopg
import pytest

from headwater.sources.catalogue import SOURCE_IDS
from tests.support.pipeline import DAY, MINUTE, T0, Stage, event

ADS = 1 << SOURCE_IDS["google_ads"]
SMS = 1 << SOURCE_IDS["sms"]


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id)


def click(minute: float = 0, **values: object) -> object:
    event_time = T0 + int(minute * MINUTE)
    defaults = {"trk_token": "t1", "trk_source": "google_ads", "event_time": event_time}
    return event(**{**defaults, **values})


def test_it_works(stage: Stage) -> None:
    [receipt] = stage.run(
        click(trk_campaign="120", trk_ad_group="Spring", trk_ad_id="9", trk_keyword="shoes",
              url="https://shop.example/")
    )  # fmt: skip
    columns = ("id", "contact_id", "source_id", "source_rule", "campaign_id", "campaign_name",
               "adset_id", "adset_name", "ad_id", "keyword", "url")  # fmt: skip
    assert stage.rows("touchpoints", *columns) == [
        (receipt, stage.find_contact(receipt), SOURCE_IDS["google_ads"], "trk_source", "120", None,
         None, "Spring", "9", "shoes", "https://shop.example/")
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name", ["trk_source", "trk_network", "trk_campaign", "trk_ad_group", "trk_ad_id",
             "trk_keyword", "trk_type"]
)  # fmt: skip
def test_any_parameter_makes_one(stage: Stage, name: str) -> None:
    stage.run(event(trk_token="t1", **{name: "x y z"}))
    assert len(stage.values("touchpoints", "id")) == 1


def test_a_token_is_no_attribution(stage: Stage) -> None:
    stage.run(event(trk_token="t1"))
    assert stage.values("touchpoints", "id") == []


@pytest.mark.parametrize("limit", [1, 10])
def test_the_same_touch_within_half_an_hour_makes_none(stage: Stage, limit: int) -> None:
    stage.put(click(0), click(30), click(30 + 1 / 60), click(45), click(-1), click(40, trk_ad_id="2"))
    stage.process(limit)
    times = [moment.timestamp() - T0 / 1000 for moment in stage.values("touchpoints", "occurred_at")]
    assert times == [-60, 0, 30 * 60 + 1, 40 * 60]


@pytest.mark.parametrize("limit", [1, 10])
def test_touches_of_merged_contacts_count_from_then_on(stage: Stage, limit: int) -> None:
    stage.put(
        click(0),
        event(email="a@b.org", event_time=T0),
        click(5, trk_token=None, email="a@b.org"),  # not yet the same contact
        event(email="a@b.org", trk_token="t1"),
        click(6, trk_token=None, email="a@b.org"),
    )
    stage.process(limit)
    assert len(stage.values("touchpoints", "id")) == 2


def test_events_carry_the_sources_before_them(stage: Stage) -> None:
    stage.run(event(trk_token="t1", event_time=T0), click(10))
    assert stage.values("contacts", "source_mask") == [ADS]
    masks = [row[1] for row in stage.rows("events", "event_time", "source_mask")]
    assert masks == [0, ADS]


def test_a_late_touch_reaches_stored_events(stage: Stage) -> None:
    stage.run(event(trk_token="t1", event_time=T0 + DAY), click(DAY * 2 / MINUTE))
    stage.run(click(-60, trk_source="sms"), click(-30))
    masks = [row[1] for row in stage.rows("events", "event_time", "source_mask")]
    assert masks == [SMS | ADS] * 4


def test_what_parameters_do_not_tell_of_the_ad_its_url_does(stage: Stage) -> None:
    url = "https://shop.example/?utm_campaign=Other&gad_campaignid=12&utm_content=Blue&utm_term=shoe"
    stage.run(
        event(email="a@b.org", trk_source="google_ads", trk_campaign="Spring", url=url),
        event(email="b@b.org", url=url),
    )
    columns = ("campaign_id", "campaign_name", "ad_name", "keyword")
    assert stage.rows("touchpoints", *columns) == [("12", "Spring", "Blue", "shoe")]
