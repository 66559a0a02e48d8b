"""GET /reports/paths: the journeys that led to events."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.attribution.credits import TouchSlices
from headwater.attribution.paths.changes import note_events
from headwater.reports.engine import report_reader
from headwater.reports.engine.groups import PathKeys
from headwater.reports.engine.path_dimensions import MOST_MORE, MOST_STEPS, TouchPath, code_paths, name_steps
from headwater.reports.query import Group
from headwater.sources.catalogue import SOURCE_IDS
from headwater.sources.source_names import SHIPPED_ALONE
from tests.paths.segments import build_all, event
from tests.support.factories import NOON, Stage, make_stage
from tests.support.reading_fixtures import RANGE, Api
from tests.support.report_model.ways import find_channel

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def paths(api: Api, **params: Any) -> dict[str, Any]:
    response = api.get("/reports/paths", params={**RANGE, **params})
    assert response.status_code == 200, response.text
    return response.json()


def add_path(stage: Stage, *sources: str, amount: object = None, **columns: Any) -> int:
    """Store a contact who came through these sources, one a day, and an event right after the last."""
    contact_id = stage.contact()
    for days_before, source in enumerate(reversed(sources)):
        stage.touchpoint(contact_id, source, occurred_at=NOON - days_before * DAY)
    value = None if amount is None else Decimal(str(amount))
    stage.event(contact_id, amount=value, **columns)
    return contact_id


def test_it_works(api: Api, stage: Stage) -> None:
    add_path(stage, "google_ads", "google_ads", "email", amount=100)
    add_path(stage, "google_ads", "email", amount="20.5")
    add_path(stage, "direct", amount=-3)
    add_path(stage, amount=1000)
    answer = paths(api)
    figures = ["events", "conversions", "revenue", "days_to_conversion"]
    assert answer["columns"] == ["path", "more", *figures]
    assert answer["rows"] == [
        [["google_ads", "email"], 0, 2, 2, 120.5, 1.5], [["direct"], 0, 1, 0, -3, None],
    ]  # fmt: skip
    assert answer["left_out"] == 0
    assert answer["totals"] == {"events": 3, "conversions": 2, "revenue": 117.5, "days_to_conversion": 1.5}
    assert answer["touches"] == {
        "columns": ["touches", *figures],
        "rows": [
            ["1", 1, 0, -3, None], ["2", 1, 1, 20.5, 1], ["3", 1, 1, 100, 2],
            *([name, 0, 0, 0, None] for name in ("4", "5", "6-10", "11-20", "21+")),
        ],
    }  # fmt: skip
    assert answer["days"]["columns"] == ["days", *figures]
    assert answer["days"]["rows"][:3] == [
        ["0", 1, 0, -3, None], ["1", 1, 1, 20.5, 1], ["2-3", 1, 1, 100, 2],
    ]  # fmt: skip
    assert answer["first_and_last"] == {
        "columns": ["first", "last", *figures],
        "rows": [["google_ads", "email", 2, 2, 120.5, 1.5], ["direct", "direct", 1, 0, -3, None]],
    }
    assert answer["event_names"] == {"purchase": 3}
    assert answer["period"] == RANGE
    assert answer["first_event"] == answer["last_event"] == f"{NOON:%Y-%m-%d %H:%M:%S}"
    assert (answer["timezone"], answer["currency"]) == ("UTC", "USD")
    assert (answer["group_by"], answer["attribution_window"]) == ("source", 30)


def test_an_empty_space_has_no_paths(api: Api, stage: Stage) -> None:
    for _ in range(2):
        answer = paths(api)
        assert (answer["rows"], answer["left_out"], answer["first_and_last"]["rows"]) == ([], 0, [])
        assert answer["totals"] == {
            "events": 0, "conversions": 0, "revenue": 0, "days_to_conversion": None,
        }  # fmt: skip
        assert {figure for _, *row in answer["days"]["rows"] for figure in row} == {0, None}
        add_path(stage, amount=5)


def test_channels(api: Api, stage: Stage) -> None:
    """Consecutive sources of one channel are one step; the ends stay sources."""
    add_path(stage, "google_ads", "facebook_ads", "substack", "email", "tiktok_ads")
    answer = paths(api, group_by="channel")
    assert [row[0] for row in answer["rows"]] == [["paid", "email", "paid"]]
    assert [row[:2] for row in answer["first_and_last"]["rows"]] == [["google_ads", "tiktok_ads"]]


def test_a_long_path_is_cut_off(api: Api, stage: Stage) -> None:
    add_path(stage, *(["email", "direct"] * 7), "direct")
    answer = paths(api, attribution_window=0)
    assert answer["rows"] == [[["email", "direct"] * 5, 4, 1, 1, 0, 14]]
    assert answer["touches"]["rows"][6][:2] == ["11-20", 1]
    assert answer["days"]["rows"][4][:2] == ["8-14", 1]


def test_the_window_cuts_a_path(api: Api, stage: Stage) -> None:
    contact_id = add_path(stage, "email")
    stage.touchpoint(contact_id, "google_ads", occurred_at=NOON - 7 * DAY)
    stage.touchpoint(contact_id, "direct", occurred_at=NOON + HOUR)
    assert paths(api, attribution_window=7)["rows"] == [[["google_ads", "email"], 0, 1, 1, 0, 7]]
    assert paths(api, attribution_window=1)["rows"] == [[["email"], 0, 1, 1, 0, 0]]


def test_companies_and_filters(api: Api, stage: Stage) -> None:
    company_id = stage.company()
    buyer, colleague = (stage.contact(company_id=company_id) for _ in range(2))
    stage.touchpoint(colleague, "email", company_id=company_id, occurred_at=NOON - DAY)
    stage.event(buyer, company_id=company_id, amount=Decimal(70))
    stage.label_field("profile_field_1")
    add_path(stage, "direct", amount=5)
    add_path(stage, "sms", event_name="sign_up")
    company_paths = paths(api, query_mode="company", amount_min=6)
    assert company_paths["rows"] == [[["email"], 0, 1, 1, 70, 1]]
    assert company_paths["query_mode"] == "company"
    assert paths(api, amount_min=6)["rows"] == []
    assert [row[0] for row in paths(api, amount_max=5)["rows"]] == [["direct"]]
    assert [row[0] for row in paths(api, **{"event_names[]": "sign_up"})["rows"]] == [["sms"]]
    by_field = {"custom_field_filters[0][field]": "profile_field_1",
                "custom_field_filters[0][operator]": "any"}  # fmt: skip
    assert paths(api, **by_field)["rows"] == []


def test_the_limit_says_what_is_left_out(api: Api, stage: Stage) -> None:
    for source in ("sms", "email", "direct", "direct"):
        add_path(stage, source)
    answer = paths(api, limit=2)
    assert [row[0] for row in answer["rows"]] == [["direct"], ["email"]]
    assert (answer["left_out"], answer["totals"]["events"]) == (1, 4)


def test_csv(api: Api, stage: Stage) -> None:
    add_path(stage, "google_ads", "email", amount="0.0001")
    response = api.get("/reports/paths", params=RANGE, accept="text/csv")
    assert response.headers["content-type"] == "text/csv; charset=utf-8; header=present"
    assert list(csv.reader(io.StringIO(response.text))) == [
        ["path", "more", "events", "conversions", "revenue", "days_to_conversion"],
        ["google_ads > email", "0", "1", "1", "0.0001", "1"],
    ]


@pytest.mark.parametrize(
    "params",
    [
        {"group_by": "day"}, {"limit": 0}, {"limit": 1001}, {"attribution_window": 31},
        {"amount_min": 5, "amount_max": 4}, {"start_date": "2027-01-01 00:00:00"},
        {"period": "today"}, {"event_names[]": "x"},
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_named(api: Api, params: dict[str, Any]) -> None:
    response = api.get("/reports/paths", params={**RANGE, **params})
    assert response.status_code == 422
    field_names = {name.removesuffix("[]") for name in params}
    assert set(response.json()["errors"]) & (field_names | {"end_date"})


def test_another_space_is_not_counted(api: Api, connection: psycopg.Connection) -> None:
    add_path(make_stage(connection), "email", amount=9)
    assert paths(api)["totals"]["events"] == 0


def test_too_much_to_add_up(api: Api, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    add_path(stage, "email")
    monkeypatch.setattr(report_reader, "SECONDS", 0.0)
    response = api.get("/reports/paths", params=RANGE)
    assert (response.status_code, response.json()["reason"]) == (422, "too_much")


def test_pieces_are_joined(api: Api, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Days without segments are read some events at a time."""
    for source in ("sms", "email", "direct", "direct", "email", "email"):
        add_path(stage, source, amount=1)
    monkeypatch.setattr("headwater.attribution.paths.reader.MAX_LIVE_EVENTS", 1)
    assert [row[:3] for row in paths(api)["rows"]] == [
        [["email"], 0, 3], [["direct"], 0, 2], [["sms"], 0, 1],
    ]  # fmt: skip


@pytest.mark.parametrize("max_events", [1, 2, 3, 10_000])
def test_pending_paths_are_read_in_groups_of_days(
    api: Api, stage: Stage, monkeypatch: pytest.MonkeyPatch, max_events: int
) -> None:
    """Each event is read once, as it is now, however many are pending on a day."""
    for day, number in enumerate((1, 3, 1, 1)):
        moment = NOON - timedelta(days=day)
        for _ in range(number):
            contact_id = stage.contact()
            stage.touchpoint(contact_id, "email", occurred_at=moment - timedelta(hours=1))
            event_id = event(stage, contact_id, event_time=moment, amount=10)
            build_all(stage)
    for event_id in stage.connection.execute(
        "UPDATE events SET amount = 1 WHERE space_id = %s RETURNING id", (stage.space_id,)
    ).fetchall():
        note_events(stage.connection, stage.space_id, list(event_id))
    monkeypatch.setattr("headwater.attribution.paths.reader.MAX_LIVE_EVENTS", max_events)
    assert [row[:5] for row in paths(api)["rows"]] == [[["email"], 0, 6, 6, 6]]


def test_a_path_fits_a_number() -> None:
    names = name_steps(Group.PATH, SHIPPED_ALONE)
    assert names.most_steps == MOST_STEPS
    assert names.values**MOST_STEPS * (MOST_MORE + 1) < 1 << 63


TOUCHES = st.lists(st.sampled_from(("email", "substack", "sms", "google_ads", "yelp")), max_size=40)


@given(touches=TOUCHES, bounds=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40))))
def test_any_part_of_a_row_of_touches_is_a_path(touches: list[str], bounds: list[tuple[int, int]]) -> None:
    slices = [(begin, end) for begin, end in bounds if begin < end <= len(touches)]
    ids = np.array([SOURCE_IDS[source] for source in touches], dtype=np.int64)
    begins, stops = np.array(slices, dtype=np.int64).reshape(-1, 2).T
    for group in (Group.PATH, Group.CHANNEL_PATH):
        names = name_steps(group, SHIPPED_ALONE)
        keys = code_paths(names, ids, TouchSlices(begins, stops)).tolist()
        texts = [PathKeys(names).text(key) for key in keys]
        assert [TouchPath.read(text) for text in texts] == [
            plain_path(touches[begin:end], group) for begin, end in slices
        ]
        assert [PathKeys(names).find(text) for text in texts] == keys
        assert sorted(texts) == [PathKeys(names).text(key) for key in sorted(keys)]


@pytest.mark.parametrize(
    "text",
    ["", "+1", "email > +1", "e-mail", "email > ", "email>direct", "email > direct > +0",
     " > ".join(["email", "direct"] * 5 + ["+10"]), " > ".join(["email", "direct"] * 6)],
)  # fmt: skip
def test_words_that_are_no_path(text: str) -> None:
    assert PathKeys(name_steps(Group.PATH, SHIPPED_ALONE)).find(text) is None


def plain_path(touches: list[str], group: Group) -> TouchPath:
    names = [find_channel(source) if group is Group.CHANNEL_PATH else source for source in touches]
    steps = [
        step for step, before in zip(names, [None, *names], strict=False) if step != before
    ]  # fmt: skip
    more = min(MOST_MORE, max(0, len(steps) - MOST_STEPS))
    return TouchPath(tuple(steps[:MOST_STEPS]), more)
