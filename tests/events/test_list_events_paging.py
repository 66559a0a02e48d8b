"""Paging of GET /events: reading it in any way gives the same list."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import API, BASE_URL
from tests.support.factories import NOON, Stage, make_stage
from tests.support.reading_fixtures import Api

CREDITED = {
    "sources[]": ["email", "direct", "facebook_ads"],
    "attribution_model": "linear",
    "attribution_window": "0",
}

MOST_ROWS = 25
MOST_PAGES = MOST_ROWS**2 // 4
"""Every event with every touchpoint before it, one row a page."""

# Few distinct times, so that most rows tie with others on part of the sort key.
minutes = st.integers(0, 2)
journeys = st.lists(
    st.tuples(st.booleans(), minutes, st.sampled_from(CREDITED["sources[]"])), max_size=MOST_ROWS
)


def key(row: dict[str, Any]) -> tuple[int, int | None]:
    return row["id"], row.get("touchpoint_id")


def follow(client: httpx.Client, api: Api, url: str | None, link: str) -> list[list[Any]]:
    """Return the pages from `url` onwards."""
    pages: list[list[Any]] = []
    while url:
        parts = urlsplit(url)
        assert f"{parts.scheme}://{parts.netloc}" == BASE_URL
        path = parts.path.removeprefix(API)
        page = client.get(f"{path}?{parts.query}", headers=api.headers).json()
        pages.append([key(row) for row in page["data"]])
        assert len(pages) <= MOST_PAGES, "the pages go round in circles"
        url = page[link]
    return pages


@given(rows=journeys, per_page=st.integers(1, 7), params=st.sampled_from([{}, CREDITED]))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_paging_equals_one_big_page(
    client: httpx.Client,
    connection: psycopg.Connection,
    rows: list[tuple[bool, int, str]],
    per_page: int,
    params: dict[str, Any],
) -> None:
    stage = make_stage(connection)
    api = Api(client, stage.key)
    contact_id = stage.contact()
    for is_event, minute, source in rows:
        event_time = NOON + timedelta(minutes=minute)
        if is_event:
            stage.event(contact_id, event_time=event_time, source_mask=-1)
        else:
            stage.touchpoint(contact_id, source, occurred_at=event_time)
    all_keys = [key(row) for row in api.rows(**params, per_page=1000)]

    first = api.list(**params, per_page=per_page).json()
    pages = [[key(row) for row in first["data"]]]
    pages += follow(client, api, first["next_page_url"], "next_page_url")
    assert first["prev_cursor"] is None
    assert [row for page in pages for row in page] == all_keys
    assert all(len(page) == per_page for page in pages[:-1])
    assert len(pages) == max(1, -(-len(all_keys) // per_page))

    last = first
    while last["next_cursor"]:
        last = api.list(**params, per_page=per_page, cursor=last["next_cursor"]).json()
    previous_pages = follow(client, api, last["prev_page_url"], "prev_page_url")
    assert previous_pages == pages[:-1][::-1]


@pytest.mark.parametrize("params", [{}, CREDITED])
def test_new_events_move_no_page(api: Api, stage: Stage, params: dict[str, Any]) -> None:
    contact_id = stage.contact()
    stage.touchpoint(contact_id, "email", occurred_at=NOON)

    def add(minute: int) -> int:
        return stage.event(contact_id, event_time=NOON + timedelta(minutes=minute))

    stored_ids = [add(minute) for minute in range(6)]
    first = api.list(**params, per_page=2).json()
    newest = add(9)
    second = api.list(**params, per_page=2, cursor=first["next_cursor"]).json()
    assert [row["id"] for row in second["data"]] == [stored_ids[3], stored_ids[2]]
    previous_page = api.list(**params, per_page=2, cursor=second["prev_cursor"]).json()
    assert [row["id"] for row in previous_page["data"]] == [stored_ids[5], stored_ids[4]]
    top = api.list(**params, per_page=2, cursor=previous_page["prev_cursor"]).json()
    assert [row["id"] for row in top["data"]] == [newest]
    assert top["prev_cursor"] is None
    second_page = api.list(**params, per_page=2, cursor=top["next_cursor"]).json()
    assert [row["id"] for row in second_page["data"]] == [stored_ids[5], stored_ids[4]]


def test_a_page_whose_rows_have_gone_leads_back(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    events = [stage.event(contact_id, event_time=NOON + timedelta(minutes=n)) for n in range(4)]
    first = api.list(per_page=2).json()
    for event_id in events[:2]:
        api.send("DELETE", f"/events/{event_id}")
    empty_page = api.list(per_page=2, cursor=first["next_cursor"]).json()
    assert (empty_page["data"], empty_page["next_cursor"]) == ([], None)
    previous_page = api.list(per_page=2, cursor=empty_page["prev_cursor"]).json()
    assert previous_page["data"] == first["data"]


def test_events_without_credit_are_skipped_in_company_mode(api: Api, stage: Stage) -> None:
    """They are found like those with credit, because their contacts have touches of the source too."""
    credited, uncredited = stage.contact(), stage.contact()
    for contact_id, source in ((credited, "email"), (uncredited, "email"), (uncredited, "direct")):
        stage.touchpoint(contact_id, source, occurred_at=NOON)
    contacts = [credited, *[uncredited] * 5, credited]
    events = [
        stage.event(contact_id, event_time=NOON + timedelta(minutes=minute))
        for minute, contact_id in enumerate(contacts)
    ]
    params = CREDITED | {"sources[]": "email", "attribution_model": "last_touch", "query_mode": "company"}
    page = api.list(**params, per_page=2).json()
    assert [row["id"] for row in page["data"]] == [events[-1], events[0]]
    assert page["next_cursor"] is None


def test_page_urls_keep_every_parameter(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    stage.touchpoint(contact_id, "email", occurred_at=NOON)
    for _ in range(3):
        stage.event(contact_id)
    params = {**CREDITED, "fields": ["amount", "source"], "query_mode": "company", "note": "a b&c"}
    page = api.list(**params, per_page=1).json()
    parameters = httpx.URL(page["next_page_url"]).params
    assert parameters["cursor"] == page["next_cursor"]
    assert {name: parameters.get_list(name) for name in params} == {
        name: value if isinstance(value, list) else [value] for name, value in params.items()
    }


@pytest.fixture
def cursor(api: Api, stage: Stage) -> str:
    contact_id = stage.contact()
    for _ in range(3):
        stage.event(contact_id)
    return api.list(per_page=1).json()["next_cursor"]


def test_a_changed_cursor_is_refused(api: Api, cursor: str) -> None:
    for index, letter in enumerate(cursor):
        for other_letter in ("A" if letter != "A" else "B", chr(ord(letter) ^ 1)):
            assert list(api.errors(cursor=cursor[:index] + other_letter + cursor[index + 1 :])) == ["cursor"]
    for text in (cursor[:-1], cursor + "A", cursor + "=", " " + cursor, cursor * 2):
        assert list(api.errors(cursor=text)) == ["cursor"]


def test_a_cursor_of_another_space_is_refused(
    client: httpx.Client, connection: psycopg.Connection, cursor: str
) -> None:
    other_api = Api(client, make_stage(connection).key)
    assert list(other_api.errors(cursor=cursor)) == ["cursor"]


@pytest.mark.parametrize(
    "params",
    [
        CREDITED,
        {"event_names": "purchase"},
        {"query_mode": "company"},
        {"start_date": "2026-01-01 00:00:01"},
        {"end_date": "2026-12-31 23:59:58"},
        {"custom_field_filters[0][field]": "profile_field_1", "custom_field_filters[0][operator]": "any"},
    ],
)
def test_a_cursor_of_other_filters_is_refused(
    api: Api, stage: Stage, cursor: str, params: dict[str, Any]
) -> None:
    stage.label_field("profile_field_1")
    assert list(api.errors(**params, cursor=cursor)) == ["cursor"]


def test_fields_and_page_size_may_change_between_pages(api: Api, cursor: str) -> None:
    rows = api.rows(**{"fields[]": "amount"}, per_page=2, cursor=cursor)
    assert [list(row) for row in rows] == [["id", "amount", "event_time_utc"]] * 2
