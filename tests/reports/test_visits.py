"""`visits` and `conversion_rate` of GET /reports: which visits count, when, and refused queries."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from headwater.database.jobs.connection import connect
from headwater.events.browsing.accepted import AcceptedBots, AcceptedHit
from headwater.privacy.scrub import scrub
from tests.merging.test_unmerge_properties import undo
from tests.support.factories import make_stage
from tests.support.pipeline import Stage as Pipeline
from tests.support.pipeline import event, hit, touch
from tests.support.reading_fixtures import Api

BERLIN = ZoneInfo("Europe/Berlin")
OCTOBER = {"start_date": "2025-10-01 00:00:00", "end_date": "2025-10-31 23:59:59"}
PAGE = "https://shop.example/shoes"
AD = PAGE + "?utm_source=fb&utm_medium=cpc&utm_campaign=spring"
GOOGLE = "https://www.google.com/"
INSIDE = "https://www.shop.example/"


@pytest.fixture
def world(client: Any, connection: Any) -> tuple[Api, Pipeline]:
    stage = make_stage(connection, timezone="Europe/Berlin")
    stage.label_field("profile_field_1")
    return Api(client, stage.key), Pipeline(connection, stage.space_id)


def ms(text: str) -> int:
    """Return a moment of Berlin time, or of UTC if it ends in Z, in ms since 1970."""
    moment = datetime.fromisoformat(text.rstrip("Z"))
    return round(moment.replace(tzinfo=UTC if text.endswith("Z") else BERLIN).timestamp() * 1000)


def view(token: str, time: str, url: str = PAGE, referrer: str | None = None) -> AcceptedHit:
    return hit(trk_token=token, occurred_at=ms(time), url=url, referrer=referrer)


def report(api: Api, *measures: str, **parameters: Any) -> dict[str, Any]:
    query_parameters = {**OCTOBER, "measures[]": measures or ("visits",), **parameters}
    response = api.get("/reports", params=query_parameters)
    assert response.status_code == 200, response.text
    return response.json()


def browse(stage: Pipeline) -> None:
    """Store two visits from an ad, the first with an order; a visit from a search; a visit from the site
    itself; a direct visit soon after a click, which makes no touch; and an order that only a server reports.
    """
    stage.run(
        view("t1", "2025-10-06 10:00", AD),
        view("t1", "2025-10-06 10:20", PAGE, INSIDE),
        view("t1", "2025-10-07 10:00", AD),
        event(trk_token="t1", event_time=ms("2025-10-06 11:00"), amount="80"),
        view("t2", "2025-10-07 12:00", "https://shop.example/hats?x=1", GOOGLE),
        view("t3", "2025-10-07 12:00", PAGE, INSIDE),
        touch(trk_token="t4", occurred_at=ms("2025-10-08 09:50"), source="sms"),
        view("t4", "2025-10-08 10:00", "https://shop.example/hats"),
        event(email="ben@acme.com", event_time=ms("2025-10-06 11:00"), amount="20"),
    )


def test_it_works(world: tuple[Api, Pipeline]) -> None:
    api, stage = world
    browse(stage)
    answer = report(api, "visits", "conversion_rate", "share", **{"group_by[]": "source"})
    assert answer["columns"] == ["source", "visits", "conversion_rate", "share"]
    assert answer["rows"] == [
        ["facebook_ads", 2, 0.5, 0.4], ["direct", 1, 0, 0.2], ["google_organic", 1, 0, 0.2],
        [None, 1, 0, 0.2],
    ]  # fmt: skip
    assert answer["totals"] == {"visits": 5, "conversion_rate": 0.2, "share": 1}
    assert answer["overall"] == answer["totals"]
    assert answer["unattributed"]["visits"] == 0
    assert answer["visits"] == {
        "bot_views": 0, "conversions_without_visit": 0.5, "deleted_before": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("group", "rows"),
    [
        ("channel", [["paid", 2], ["direct", 1], ["organic", 1], [None, 1]]),
        ("platform", [[None, 3], ["meta", 2]]),
        ("campaign", [[None, None, 3], ["spring", "spring", 2]]),
        ("landing_page", [[PAGE, 3], ["https://shop.example/hats", 2]]),
        ("day", [["2025-10-06", 1], ["2025-10-07", 3], ["2025-10-08", 1]]),
        ("week", [["2025-10-06", "2025-W41", 5]]),
        ("month", [["2025-10", 5]]),
        ("hour", [["10", 3], ["11", 0], ["12", 2]]),
        ("weekday", [["1", 1], ["2", 3], ["3", 1]]),
    ],
)
def test_groups_add_up(world: tuple[Api, Pipeline], group: str, rows: list[list[Any]]) -> None:
    api, stage = world
    browse(stage)
    answer = report(api, **{"group_by[]": group})
    assert answer["rows"] == rows
    assert answer["totals"]["visits"] == sum(row[-1] for row in rows) == 5


@pytest.mark.parametrize(
    ("group", "rows"), [("hour", [["10", 3], ["12", 2]]), ("weekday", [["1", 1], ["2", 3], ["3", 1]])]
)
def test_a_period_of_decades_is_answered_in_time(
    world: tuple[Api, Pipeline], group: str, rows: list[list[Any]]
) -> None:
    """The period has a million quarters of an hour, only four of them with visits."""
    api, stage = world
    browse(stage)
    decades = {"start_date": "2000-01-01 00:00:00", "end_date": "2029-12-31 23:59:59"}
    answer = report(api, **{"group_by[]": group}, **decades)
    assert [row for row in answer["rows"] if row[-1]] == rows


def test_a_report_without_visits_is_empty(world: tuple[Api, Pipeline]) -> None:
    api, _ = world
    assert report(api, **{"group_by[]": "hour"})["totals"] == {"visits": 0}


def test_two_groups(world: tuple[Api, Pipeline]) -> None:
    api, stage = world
    browse(stage)
    answer = report(api, **{"group_by[]": ["day", "channel"]}, sources="facebook_ads")
    assert answer["rows"] == [["2025-10-06", "paid", 1], ["2025-10-07", "paid", 1]]
    assert (answer["totals"]["visits"], answer["overall"]["visits"]) == (2, 5)


@pytest.mark.parametrize(
    ("filters", "visits"),
    [
        ({"sources": "google_organic"}, 1),
        ({"campaign": "SPRI"}, 2),
        ({"only": f"landing_page:{PAGE}"}, 3),
        ({"only": "day:2025-10-07"}, 3),
        ({"only": "source:"}, 1),
        ({"event_names": "sign_up"}, 5),
        ({"date_basis": "touch", "start_date": "2025-10-07 11:00:00"}, 3),
    ],
)
def test_filters_select_visits(world: tuple[Api, Pipeline], filters: dict[str, str], visits: int) -> None:
    api, stage = world
    browse(stage)
    assert report(api, **filters)["totals"]["visits"] == visits


@pytest.mark.parametrize(
    ("field", "parameters"),
    [
        ("group_by", {"group_by": "event"}),
        ("group_by", {"group_by": "country", "measures": "conversion_rate"}),
        ("only", {"only": "contact:1"}),
        (
            "custom_field_filters",
            {"custom_field_filters[0][field]": "profile_field_1", "custom_field_filters[0][operator]": "any"},
        ),
    ],
)
def test_what_visits_do_not_have_is_refused(
    world: tuple[Api, Pipeline], field: str, parameters: dict[str, str]
) -> None:
    api, _ = world
    response = api.get("/reports", params={**OCTOBER, "measures": "visits", **parameters})
    assert response.status_code == 422
    assert field in response.json()["errors"]


def test_a_rate_by_model(world: tuple[Api, Pipeline]) -> None:
    api, stage = world
    stage.run(
        view("t1", "2025-10-06 10:00", AD),
        touch(trk_token="t1", occurred_at=ms("2025-10-06 12:00"), source="sms"),
        event(trk_token="t1", event_time=ms("2025-10-06 13:00"), amount="80"),
    )
    models = ["first_touch", "last_touch", "linear"]
    answer = report(api, "conversion_rate", **{"attribution_models[]": models, "group_by[]": "source"})
    assert answer["rows"] == [["facebook_ads", 1, 0, 0.5], ["sms", None, None, None]]


def test_days_are_the_space_s(world: tuple[Api, Pipeline]) -> None:
    """The day of the autumn clock change has 25 hours, one of them twice."""
    api, stage = world
    moments = ("2025-10-25T22:00Z", "2025-10-26T00:30Z", "2025-10-26T01:30Z", "2025-10-26T22:59Z",
               "2025-10-26T23:00Z")  # fmt: skip
    stage.run(*(view(f"t{number}", moment) for number, moment in enumerate(moments)))
    assert report(api, **{"group_by[]": "day"})["rows"] == [["2025-10-26", 4], ["2025-10-27", 1]]
    assert report(api, **{"group_by[]": "hour"})["rows"] == [["00", 2], ["02", 2], ["23", 1]]
    period = {"start_date": "2025-10-26 02:00:00", "end_date": "2025-10-26 22:59:59"}
    assert report(api, **period)["totals"]["visits"] == 2


def test_compared_with_the_period_before(world: tuple[Api, Pipeline]) -> None:
    api, stage = world
    stage.run(
        event(email="ada@acme.com", event_time=ms("2025-10-01 10:00")),
        *(view(f"t{day}", f"2025-10-0{day} 10:00", AD) for day in (2, 3, 6)),
    )
    period = {"start_date": "2025-10-05 00:00:00", "end_date": "2025-10-08 23:59:59"}
    answer = report(api, **period, compare="previous_period", **{"group_by[]": "source"})
    assert answer["columns"] == ["source", "visits", "visits_before", "visits_change"]
    assert answer["rows"] == [["facebook_ads", 1, 2, -0.5]]


def test_a_late_page_view_moves_a_visit_to_its_source(world: tuple[Api, Pipeline]) -> None:
    api, stage = world
    stage.run(view("t1", "2025-10-06 10:20", PAGE), view("t1", "2025-10-06 11:00", PAGE, GOOGLE))
    assert report(api, **{"group_by[]": "source"})["rows"] == [["direct", 1], ["google_organic", 1]]
    stage.run(view("t1", "2025-10-06 10:00", AD), view("t1", "2025-10-06 10:40", PAGE, INSIDE))
    assert report(api, **{"group_by[]": "source"})["rows"] == [["facebook_ads", 1]]


def test_merging_and_splitting_contacts_changes_nothing(
    world: tuple[Api, Pipeline], database_url: str
) -> None:
    api, stage = world
    browse(stage)
    parameters = {"group_by[]": ["source", "landing_page"]}
    before = report(api, **parameters)["rows"]
    first, *_ = stage.run(event(email="ben@acme.com", event_time=ms("2025-09-01 10:00")))
    stage.run(event(trk_token="t1", email="ben@acme.com", event_time=ms("2025-09-02 10:00")))
    stage.run(event(trk_token="t2", email="ben@acme.com", event_time=ms("2025-09-02 10:00")))
    assert report(api, **parameters)["rows"] == before
    merged_ids = [row[0] for row in stage.rows("contacts", "id", "merged_into") if row[1] is not None]
    assert merged_ids
    undo(database_url, stage, *merged_ids)
    assert report(api, **parameters)["rows"] == before
    assert stage.find_contact(first)


def test_erasing_a_person_removes_their_visits(world: tuple[Api, Pipeline], database_url: str) -> None:
    api, stage = world
    browse(stage)
    [event_id] = stage.run(event(trk_token="t1", event_time=ms("2025-10-08 10:00"), amount="1"))
    contact = stage.find_contact(event_id)
    with connect(database_url) as connection, connection.transaction():
        scrub(connection, stage.space_id, contact)
    rows = report(api, **{"group_by[]": "landing_page"})["rows"]
    assert rows == [["https://shop.example/hats", 2], [PAGE, 1]]


def test_bots_are_counted_by_the_time_they_came(world: tuple[Api, Pipeline]) -> None:
    api, stage = world
    [(site,)] = stage.connection.execute(
        "INSERT INTO sites (space_id, name, site_key, origins) VALUES (%s, 's', %s, '{}') RETURNING id",
        (stage.space_id, f"key {stage.space_id}"),
    ).fetchall()
    bots = AcceptedBots(site_id=site, hits=2)
    for received_at in ("2025-10-06T21:59:59Z", "2025-10-06T22:00:00Z", "2025-10-07T21:59:59Z"):
        stage.put_row("bots", f'{{"site_id":{bots.site_id},"hits":{bots.hits}}}', received_at)
    stage.process()
    days = {"start_date": "2025-10-07 00:00:00", "end_date": "2025-10-07 23:59:59"}
    answer = report(api, **days)
    assert answer["visits"] == {
        "bot_views": 4, "conversions_without_visit": None, "deleted_before": None,
    }  # fmt: skip
    assert answer["totals"]["visits"] == 0
    assert report(api, "events")["visits"] is None


def test_csv_has_the_same_figures(world: tuple[Api, Pipeline]) -> None:
    api, stage = world
    browse(stage)
    parameters = {**OCTOBER, "measures[]": ["visits", "conversion_rate"], "group_by[]": "channel"}
    response = api.get("/reports", params=parameters, accept="text/csv")
    assert response.text.split() == [
        "channel,visits,conversion_rate", "paid,2,0.5", "direct,1,0", "organic,1,0", ",1,0",
    ]  # fmt: skip
