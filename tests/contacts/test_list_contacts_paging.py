"""Paging of GET /contacts: reading it in any way gives the same list."""

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
from tests.support.people import errors, person
from tests.support.reading_fixtures import RANGE, Api

SHARED = "info@example.com"
MOST_PAGES = 100

FORMS = {
    "dates": f"start_date={RANGE['start_date']}&end_date={RANGE['end_date']}",
    "one address": f"email={SHARED}",
    "commas": f"email=nobody@example.com,{SHARED}",
    "repeated": f"email=nobody@example.com&email={SHARED}",
    "brackets": f"email[]=nobody@example.com&email[]={SHARED}",
    "both": f"email[]={SHARED}&start_date={RANGE['start_date']}&end_date={RANGE['end_date']}",
}


def make_page(api: Api, query: str) -> dict[str, Any]:
    response = api.get(f"/contacts?{query}")
    assert response.status_code == 200, response.text
    return response.json()


def follow(api: Api, page: dict[str, Any], link: str) -> list[dict[str, Any]]:
    """Return the pages that `link` leads to, one after another."""
    pages: list[dict[str, Any]] = []
    while url := page[link]:
        parts = urlsplit(url)
        assert f"{parts.scheme}://{parts.netloc}" == BASE_URL
        assert parts.path == f"{API}/contacts"
        page = make_page(api, parts.query)
        pages.append(page)
        assert len(pages) <= MOST_PAGES, "the pages go round in circles"
    return pages


def ids(page: dict[str, Any]) -> list[int]:
    return [row["id"] for row in page["data"]]


# The time after the previous contact; whether it has the shared address; whether it was merged.
arrivals = st.lists(st.tuples(st.integers(0, 1), st.booleans(), st.booleans()), max_size=20)


@given(arrivals=arrivals, per_page=st.integers(1, 6), form=st.sampled_from(sorted(FORMS)))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_paging_equals_one_big_page(
    client: httpx.Client,
    connection: psycopg.Connection,
    arrivals: list[tuple[int, bool, bool]],
    per_page: int,
    form: str,
) -> None:
    stage = make_stage(connection)
    api = Api(client, stage.key)
    contact_ids: list[int] = []
    created_at = NOON
    for seconds, has_address, is_merged in arrivals:
        created_at += timedelta(seconds=seconds)
        merged_into = contact_ids[0] if is_merged and contact_ids else None
        contact_id = stage.contact(created_at=created_at, merged_into=merged_into)
        if has_address:
            stage.identifier(merged_into or contact_id, "email", SHARED, origin_id=contact_id)
        contact_ids.append(contact_id)
    all_ids = ids(make_page(api, f"{FORMS[form]}&per_page=5000"))
    assert all_ids == sorted(all_ids, reverse=True)

    first = make_page(api, f"{FORMS[form]}&per_page={per_page}")
    pages = [first, *follow(api, first, "next_page_url")]
    assert first["prev_cursor"] is first["prev_page_url"] is None
    assert [row_id for page in pages for row_id in ids(page)] == all_ids
    assert all(len(page["data"]) == per_page for page in pages[:-1])
    assert len(pages) == max(1, -(-len(all_ids) // per_page))

    previous_pages = follow(api, pages[-1], "prev_page_url")
    assert [ids(page) for page in previous_pages] == [ids(page) for page in pages[:-1]][::-1]


@pytest.mark.parametrize("form", FORMS)
def test_page_urls_keep_the_form_that_was_used(api: Api, stage: Stage, form: str) -> None:
    for number in range(5):
        person(stage, f"{number}@example.com", SHARED)
    more = "&include_all_emails=1&note=a%20b%26c%25&per_page=2"
    parameters = httpx.URL("?" + FORMS[form] + more).params.multi_items()
    first = make_page(api, FORMS[form] + more)
    pages = [first, *follow(api, first, "next_page_url")]
    pages += follow(api, pages[-1], "prev_page_url")
    assert len(pages) == 5
    for page in pages:
        for url in (page["next_page_url"], page["prev_page_url"]):
            if url is not None:
                *link_parameters, (name, _) = httpx.URL(url).params.multi_items()
                assert (link_parameters, name) == (parameters, "cursor")
        assert all("emails" in row for row in page["data"])


@pytest.mark.parametrize("form", FORMS)
def test_a_page_whose_rows_have_gone_leads_back(api: Api, stage: Stage, form: str) -> None:
    contact_ids = [person(stage, SHARED) for _ in range(4)]
    first = make_page(api, f"{FORMS[form]}&per_page=2")
    stage.connection.execute(
        "UPDATE contacts SET merged_into = %s WHERE id = %s", (contact_ids[0] - 1, contact_ids[1])
    )
    stage.connection.execute(
        "UPDATE contacts SET merged_into = %s WHERE id = %s", (contact_ids[0] - 1, contact_ids[0])
    )
    (empty_page,) = follow(api, first, "next_page_url")
    assert (empty_page["data"], empty_page["next_cursor"]) == ([], None)
    (previous_page,) = follow(api, empty_page, "prev_page_url")
    assert previous_page["data"] == first["data"]


def test_new_contacts_move_no_page(api: Api, stage: Stage) -> None:
    contact_ids = [stage.contact() for _ in range(6)]
    first = make_page(api, FORMS["dates"] + "&per_page=2")
    newest = stage.contact()
    second = make_page(api, f"{FORMS['dates']}&per_page=2&cursor={first['next_cursor']}")
    assert ids(second) == [contact_ids[3], contact_ids[2]]
    previous_page, top = follow(api, second, "prev_page_url")
    assert (ids(previous_page), ids(top)) == ([contact_ids[5], contact_ids[4]], [newest])


@pytest.fixture
def cursor(api: Api, stage: Stage) -> str:
    for _ in range(3):
        person(stage, SHARED)
    return make_page(api, f"{FORMS['both']}&per_page=1")["next_cursor"]


ASKED = {"email": SHARED, **RANGE}


@pytest.mark.parametrize(
    "params",
    [
        {"email": "other@example.com"},
        {"email": f"{SHARED},other@example.com"},
        {"start_date": "2026-01-01 00:00:01"},
        {"end_date": "2026-12-31 23:59:58"},
        {"custom_field_filters[0][field]": "profile_field_1", "custom_field_filters[0][operator]": "any"},
    ],
)
def test_a_cursor_of_other_filters_is_refused(
    api: Api, stage: Stage, cursor: str, params: dict[str, Any]
) -> None:
    stage.label_field("profile_field_1")
    messages = errors(api, **{**ASKED, **params}, cursor=cursor)
    assert messages == {"cursor": ["The cursor is not a cursor of this list."]}


def test_a_cursor_of_another_list_is_refused(
    api: Api, client: httpx.Client, connection: psycopg.Connection, stage: Stage, cursor: str
) -> None:
    other_api = Api(client, make_stage(connection).key)
    assert list(errors(other_api, **ASKED, cursor=cursor)) == ["cursor"]
    assert list(errors(api, **ASKED, cursor=cursor[:-1])) == ["cursor"]
    contact_id = stage.contact()
    for _ in range(2):
        stage.event(contact_id)
    of_events = api.list(per_page=1).json()["next_cursor"]
    assert list(errors(api, **RANGE, cursor=of_events)) == ["cursor"]


def test_what_is_shown_may_change_between_pages(api: Api, cursor: str) -> None:
    params = {"email[]": [f" {SHARED.upper()}"], **RANGE, "per_page": 5, "include_trk_tokens": 1}
    response = api.get("/contacts", params={**params, "cursor": cursor})
    assert response.status_code == 200, response.text
    assert [row["trk_tokens"] for row in response.json()["data"]] == [[], []]
