"""GET /companies."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import API, BASE_URL
from tests.support.factories import NOON, Stage, make_stage
from tests.support.reading_fixtures import Api

YEAR = {"start_date": "2026-01-01 00:00:00", "end_date": "2026-12-31 23:59:59"}

MOST_PAGES = 100


def page(api: Api, **params: Any) -> dict[str, Any]:
    response = api.get("/companies", params=params)
    assert response.status_code == 200, response.text
    return response.json()


def ids(api: Api, **params: Any) -> list[int]:
    return [row["id"] for row in page(api, **params)["data"]]


def errors(api: Api, **params: Any) -> dict[str, list[str]]:
    response = api.get("/companies", params=params)
    assert response.status_code == 422, response.text
    return response.json()["errors"]


def test_it_works(api: Api, stage: Stage) -> None:
    older = stage.company(domain="acme.com", name="Acme")
    newer = stage.company(external_id="X 1", created_at=NOON + timedelta(seconds=1))
    response = api.get("/companies")
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json() == {
        "data": [
            {"id": newer, "domain": None, "external_id": "X 1"},
            {"id": older, "domain": "acme.com", "external_id": None},
        ],
        "path": f"{BASE_URL}{API}/companies",
        "per_page": 200,
        "next_cursor": None,
        "next_page_url": None,
        "prev_cursor": None,
        "prev_page_url": None,
    }


def test_without_companies_the_list_is_empty(api: Api) -> None:
    empty = page(api)
    assert (empty["data"], empty["next_cursor"], empty["prev_cursor"]) == ([], None, None)


def test_it_is_sorted_by_creation_then_id_newest_first(api: Api, stage: Stage) -> None:
    minutes = [2, 0, 1, 1, 2]
    companies = [(stage.company(created_at=NOON + timedelta(minutes=m)), m) for m in minutes]
    sorted_companies = sorted(companies, key=lambda company: (company[1], company[0]), reverse=True)
    assert ids(api) == [company_id for company_id, _ in sorted_companies]


def test_every_company_whenever_created_without_dates(api: Api, stage: Stage) -> None:
    ages = [datetime(1, 1, 2, tzinfo=UTC), NOON, datetime(9998, 1, 1, tzinfo=UTC)]
    company_ids = [stage.company(created_at=age) for age in ages]
    assert ids(api) == company_ids[::-1]


# ---------------------------------------------------------------------------- creation window


def test_both_ends_of_the_window_are_included(api: Api, stage: Stage) -> None:
    window = {"start_date": "2026-05-13 12:00:00", "end_date": "2026-05-13 12:00:01"}
    moments = [-0.000001, 0, 1, 1.999999, 2]
    company_ids = [stage.company(created_at=NOON + timedelta(seconds=second)) for second in moments]
    assert ids(api, **window) == company_ids[3:0:-1]


def test_the_window_is_on_the_clock_of_the_space(
    client: httpx.Client, connection: psycopg.Connection
) -> None:
    stage = make_stage(connection, timezone="America/New_York")
    api = Api(client, stage.key)
    company_id = stage.company(created_at=NOON)  # 08:00 in New York
    morning = {"start_date": "2026-05-13 08:00:00", "end_date": "2026-05-13 08:00:01"}
    noon = {"start_date": "2026-05-13 12:00:00", "end_date": "2026-05-13 12:00:01"}
    assert (ids(api, **morning), ids(api, **noon)) == ([company_id], [])


def test_a_repeated_hour_is_whole(client: httpx.Client, connection: psycopg.Connection) -> None:
    stage = make_stage(connection, timezone="Europe/Berlin")
    # 02:30 occurred twice on 25 October 2026: at 00:30 and at 01:30 UTC.
    company_ids = [stage.company(created_at=datetime(2026, 10, 25, h, 30, tzinfo=UTC)) for h in (0, 1)]
    window = {"start_date": "2026-10-25 02:30:00", "end_date": "2026-10-25 02:30:01"}
    assert ids(Api(client, stage.key), **window) == company_ids[::-1]


@pytest.mark.parametrize(
    ("date_parameter", "missing"), [("start_date", "end_date"), ("end_date", "start_date")]
)
@pytest.mark.parametrize("blank", [False, True])
def test_one_date_alone_is_refused(api: Api, date_parameter: str, missing: str, blank: bool) -> None:
    params = {date_parameter: "2026-01-01 00:00:00", **({missing: " "} if blank else {})}
    assert errors(api, **params) == {missing: [f"The {missing} is required with {date_parameter}."]}


def test_two_blank_dates_are_none(api: Api, stage: Stage) -> None:
    company_id = stage.company()
    assert ids(api, start_date=" ", end_date="") == [company_id]


@pytest.mark.parametrize("end", ["2026-01-01 00:00:00", "2025-12-31 23:59:59"])
def test_the_end_must_be_after_the_start(api: Api, end: str) -> None:
    messages = errors(api, start_date="2026-01-01 00:00:00", end_date=end)
    assert messages == {"end_date": ["The end_date must be after start_date."]}


@pytest.mark.parametrize(
    "text", ["2026-01-01", "2026-01-01T00:00:00", "2026-02-30 00:00:00", "٢026-01-01 00:00:00", "x"]
)
@pytest.mark.parametrize("name", ["start_date", "end_date"])
def test_other_dates_are_refused(api: Api, name: str, text: str) -> None:
    assert list(errors(api, **{**YEAR, name: text})) == [name]


def test_a_date_given_twice_is_refused(api: Api) -> None:
    params = {**YEAR, "start_date": ["2026-01-01 00:00:00", "2026-01-02 00:00:00"]}
    assert errors(api, **params) == {"start_date": ["The start_date must be a single value."]}


# -------------------------------------------------------------------------------------- paging


@pytest.mark.parametrize("per_page", ["0", "5001", "-1", "1.5", "abc", "٣"])
def test_other_page_sizes_are_refused(api: Api, per_page: str) -> None:
    assert errors(api, per_page=per_page) == {
        "per_page": ["The per_page must be a whole number from 1 to 5000."]
    }


def test_page_sizes(api: Api, stage: Stage, connection: psycopg.Connection) -> None:
    connection.execute(
        "INSERT INTO companies (space_id, name, created_at)"
        " SELECT %s, 'Acme', now() FROM generate_series(1, 5001)",
        (stage.space_id,),
    )
    for params, size in (({}, 200), ({"per_page": "5000"}, 5000), ({"per_page": "1"}, 1)):
        answer = page(api, **params)
        assert (len(answer["data"]), answer["per_page"]) == (size, size)
        assert answer["next_cursor"]


def walk(api: Api, parameters: dict[str, Any], link: str) -> list[list[int]]:
    """Return the ids of the pages from `parameters` on, following its links; `link` is `next` or `prev`."""
    pages = [parameters]
    while url := pages[-1][f"{link}_page_url"]:
        assert url.startswith(f"{BASE_URL}{API}/companies?")
        assert httpx.URL(url).params["cursor"] == pages[-1][f"{link}_cursor"]
        pages.append(page(api, **dict(httpx.URL(url).params)))
        assert len(pages) <= MOST_PAGES, "the pages go round in circles"
    return [[row["id"] for row in answer["data"]] for answer in pages]


@given(
    minutes=st.lists(st.integers(0, 3), max_size=15),
    per_page=st.integers(1, 6),
    window=st.sampled_from(
        [{}, YEAR, {"start_date": "2026-05-13 12:01:00", "end_date": "2026-05-13 12:02:00"}]
    ),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_paging_equals_one_big_page(
    client: httpx.Client,
    connection: psycopg.Connection,
    minutes: list[int],
    per_page: int,
    window: dict[str, str],
) -> None:
    stage = make_stage(connection)
    api = Api(client, stage.key)
    for minute in minutes:  # few distinct times, so that most rows tie
        stage.company(created_at=NOON + timedelta(minutes=minute))
    all_ids = ids(api, **window, per_page=5000)

    first = page(api, **window, per_page=per_page)
    assert first["prev_cursor"] is None
    pages = walk(api, first, "next")
    assert [company_id for page_ids in pages for company_id in page_ids] == all_ids
    assert all(len(page_ids) == per_page for page_ids in pages[:-1])
    assert len(pages) == max(1, -(-len(all_ids) // per_page))

    last = first
    while last["next_cursor"]:
        last = page(api, **window, per_page=per_page, cursor=last["next_cursor"])
    assert walk(api, last, "prev") == pages[::-1]


def test_new_companies_move_no_page(api: Api, stage: Stage) -> None:
    company_ids = [stage.company(created_at=NOON + timedelta(minutes=minute)) for minute in range(4)]
    first = page(api, per_page=2)
    newest = stage.company(created_at=NOON + timedelta(minutes=9))
    second = page(api, per_page=2, cursor=first["next_cursor"])
    assert [row["id"] for row in second["data"]] == company_ids[1::-1]
    previous_page = page(api, per_page=2, cursor=second["prev_cursor"])
    assert [row["id"] for row in previous_page["data"]] == company_ids[:1:-1]
    assert ids(api, per_page=2, cursor=previous_page["prev_cursor"]) == [newest]


def test_page_urls_keep_every_parameter(api: Api, stage: Stage) -> None:
    for _ in range(2):
        stage.company()
    params = {**YEAR, "per_page": "1", "note": "a b&c"}
    parameters = dict(httpx.URL(page(api, **params)["next_page_url"]).params)
    assert parameters.pop("cursor")
    assert parameters == params


@pytest.fixture
def cursor(api: Api, stage: Stage) -> str:
    for _ in range(3):
        stage.company()
    return page(api, per_page=1)["next_cursor"]


def test_a_changed_cursor_is_refused(api: Api, cursor: str) -> None:
    for text in (cursor[:-1], cursor + "A", cursor[:5] + "A!" + cursor[7:], "x"):
        assert errors(api, cursor=text) == {"cursor": ["The cursor is not a cursor of this list."]}


@pytest.mark.parametrize("other_window", [YEAR, {**YEAR, "end_date": "2026-12-31 23:59:58"}])
def test_a_cursor_of_another_window_is_refused(api: Api, cursor: str, other_window: dict[str, str]) -> None:
    assert list(errors(api, **other_window, cursor=cursor)) == ["cursor"]


def test_a_cursor_of_another_list_is_refused(api: Api, stage: Stage, cursor: str) -> None:
    for _ in range(2):
        stage.event(stage.contact())
    of_events = api.list(per_page=1).json()["next_cursor"]
    assert list(errors(api, **YEAR, cursor=of_events)) == ["cursor"]
    assert list(api.errors(cursor=cursor)) == ["cursor"]


def test_the_page_size_may_change_between_pages(api: Api, cursor: str) -> None:
    assert len(ids(api, per_page=2, cursor=cursor)) == 2


def test_every_broken_rule_is_told(api: Api) -> None:
    messages = errors(api, start_date="x", per_page="0", cursor="x")
    assert list(messages) == ["start_date", "end_date", "per_page", "cursor"]


def test_it_needs_the_scope(client: httpx.Client, connection: psycopg.Connection) -> None:
    writer = make_stage(connection, scopes=("companies:write", "contacts:read"))
    refusal = Api(client, writer.key).get("/companies")
    assert refusal.status_code == 403
    assert "companies:read" in refusal.json()["message"]
    assert Api(client, "trk_sk_unknown").get("/companies").status_code == 401
