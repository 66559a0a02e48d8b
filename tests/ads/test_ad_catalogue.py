"""PUT /ads and GET /ads, and the places that show the names."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import httpx
import pytest

from tests.conftest import API, BASE_URL, Running, client_for
from tests.support.exports import Exports
from tests.support.factories import Stage
from tests.support.reading_fixtures import Api

SPRING = {"kind": "campaign", "id": "120", "name": "Spring"}
LEVELS = ("ad", "adset", "campaign", "account")
NAMES = [f"{level}_name" for level in LEVELS]
CREDITED = {
    "sources[]": "google_ads", "attribution_model": "linear", "attribution_window": 0,
    "fields[]": NAMES,
}  # fmt: skip


def put(api: Api, *ads: Any) -> httpx.Response:
    return api.send("PUT", "/ads", json={"ads": list(ads)})


def list_ads(api: Api, **params: Any) -> list[tuple[str, str, str, str | None]]:
    response = api.get("/ads", params=params)
    assert response.status_code == 200, response.text
    return [(r["kind"], r["id"], r["name"], r["platform"]) for r in response.json()["data"]]


def test_it_works(api: Api) -> None:
    response = put(api, SPRING, {"kind": "ad", "id": 7, "name": " Blue ", "platform": "google"})
    assert (response.status_code, response.json()) == (200, {"message": "2 ads are named."})
    response = api.get("/ads")
    assert response.status_code == 200
    first, second = response.json().pop("data")
    moments = [row.pop("updated_at") for row in (first, second)]
    assert all(moment.endswith("Z") for moment in moments)
    assert sorted([first, second], key=lambda row: row["kind"]) == [
        {"kind": "ad", "id": "7", "name": "Blue", "platform": "google"},
        {**SPRING, "platform": None},
    ]
    assert {**response.json(), "data": []} == {
        "data": [], "path": f"{BASE_URL}{API}/ads", "per_page": 200, "next_cursor": None,
        "next_page_url": None, "prev_cursor": None, "prev_page_url": None,
    }  # fmt: skip


def test_an_id_can_be_renamed(api: Api) -> None:
    assert put(api, {**SPRING, "platform": "meta"}).json() == {"message": "1 ad is named."}
    put(api, {**SPRING, "kind": "adset"})
    before = api.get("/ads").json()["data"]
    put(api, {**SPRING, "name": "Summer", "platform": " "})
    assert list_ads(api) == [
        ("adset", "120", "Spring", None), ("campaign", "120", "Summer", "meta"),
    ]  # fmt: skip
    after = api.get("/ads").json()["data"]
    assert before[0] == after[0]
    assert before[1]["updated_at"] <= after[1]["updated_at"]
    put(api, {**SPRING, "platform": "google"})
    assert ("campaign", "120", "Spring", "google") in list_ads(api)


def test_the_same_again_is_no_change(api: Api) -> None:
    put(api, {**SPRING, "platform": "meta"})
    before = api.get("/ads").json()
    put(api, SPRING)
    assert api.get("/ads").json() == before


def test_of_an_id_given_twice_the_last_counts(api: Api) -> None:
    assert put(api, SPRING, {**SPRING, "name": "Summer"}).status_code == 200
    assert list_ads(api) == [("campaign", "120", "Summer", None)]


REQUIRED, KIND = "is required.", "must be one of campaign, adset, ad, account."
TEXT = "must be a string of at most 512 characters."
ID = "must be a string of at most 512 characters or an integer."


@pytest.mark.parametrize(
    ("ad", "expected_errors"),
    [
        ({}, {"kind": KIND, "id": REQUIRED, "name": REQUIRED}),
        ({**SPRING, "kind": "keyword"}, {"kind": KIND}),
        ({**SPRING, "kind": []}, {"kind": KIND}),
        ({**SPRING, "id": " "}, {"id": REQUIRED}),
        ({**SPRING, "id": 1.5}, {"id": ID}),
        ({**SPRING, "id": True}, {"id": ID}),
        ({**SPRING, "id": "x" * 513}, {"id": ID}),
        ({**SPRING, "name": None}, {"name": REQUIRED}),
        ({**SPRING, "name": 5}, {"name": TEXT}),
        ({**SPRING, "name": "x" * 513}, {"name": TEXT}),
        ({**SPRING, "platform": 5}, {"platform": "must be a string of at most 64 characters."}),
    ],
)
def test_each_field_is_checked(api: Api, ad: dict[str, Any], expected_errors: dict[str, str]) -> None:
    response = put(api, SPRING, ad)
    assert response.status_code == 422
    assert response.json()["errors"] == {
        f"ads.1.{name}": [f"The ads.1.{name} {rule}"] for name, rule in expected_errors.items()
    }
    assert list_ads(api) == []


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, {"ads": ["The ads must be an array of ads."]}),
        ({"ads": SPRING}, {"ads": ["The ads must be an array of ads."]}),
        ({"ads": []}, {"ads": ["The ads must hold 1 to 1000 ads."]}),
        ({"ads": [SPRING] * 1001}, {"ads": ["The ads must hold 1 to 1000 ads."]}),
        ({"ads": [5]}, {"ads.0": ["The ads.0 must be an object."]}),
        ({"ads": [{**SPRING, "id": "a\0"}]}, {"ads.0.id": ["The ads.0.id holds a NUL character."]}),
        ([], {"body": ["The body must be a JSON object."]}),
    ],
)  # fmt: skip
def test_other_bodies_are_refused(api: Api, body: Any, errors: dict[str, list[str]]) -> None:
    response = api.send("PUT", "/ads", json=body)
    assert (response.status_code, response.json()["errors"]) == (422, errors)


def test_a_request_may_hold_a_thousand_ads(api: Api) -> None:
    ads = [{"kind": "ad", "id": number, "name": "x" * 512} for number in range(1000)]
    assert put(api, *ads).json() == {"message": "1000 ads are named."}
    assert len(list_ads(api, per_page=1000)) == 1000


def test_paging(api: Api) -> None:
    for number in range(5):
        put(api, {"kind": "ad", "id": number, "name": "x"})
    pages, params = [], {"per_page": 2}
    for _ in range(10):
        page = api.get("/ads", params=params).json()
        pages.append([int(row["id"]) for row in page["data"]])
        if page["next_cursor"] is None:
            break
        params = {**params, "cursor": page["next_cursor"]}
    assert pages == [[4, 3], [2, 1], [0]]
    previous_page = api.get("/ads", params={"per_page": 2, "cursor": page["prev_cursor"]}).json()
    assert [int(row["id"]) for row in previous_page["data"]] == [2, 1]


@pytest.mark.parametrize("params", [{"per_page": 0}, {"per_page": 1001}, {"per_page": "x"}, {"cursor": "x"}])
def test_other_parameters_are_refused(api: Api, params: dict[str, Any]) -> None:
    response = api.get("/ads", params=params)
    assert response.status_code == 422
    assert list(response.json()["errors"]) == list(params)


def test_scopes(server: Running, space_id: int, make_key: Any) -> None:
    with client_for(server, make_key(space_id, ["events:read"])) as reader:
        assert reader.get("/ads").status_code == 200
        assert reader.put("/ads", json={"ads": [SPRING]}).status_code == 403
    with client_for(server, make_key(space_id, ["events:write"])) as writer:
        assert writer.get("/ads").status_code == 403
        assert writer.put("/ads", json={"ads": [SPRING]}).status_code == 200


def test_requests_at_once_do_not_wait_in_a_circle(api: Api) -> None:
    ads = [{"kind": "ad", "id": number, "name": "x"} for number in range(300)]
    statuses: list[int] = []

    def rename(start: int) -> None:
        for name, direction in itertools.product(("a", "b"), (1, -1)):
            body = [{**ad, "name": f"{name}{start}"} for ad in ads[::direction]]
            statuses.append(put(api, *body).status_code)

    threads = [threading.Thread(target=rename, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 16


# ---------------------------------------------------------------------------- where names show


def ids(*levels: str) -> dict[str, str]:
    return {f"{level}_id": f"{level} 1" for level in levels}


def add_credited_event(stage: Stage, **columns: Any) -> int:
    """Store a contact with an event that is credited to a touchpoint with these columns."""
    contact_id = stage.contact()
    stage.touchpoint(contact_id, "google_ads", **columns)
    stage.event(contact_id, amount=1)
    return contact_id


def catalogue(api: Api) -> None:
    """Names for one id of every level, and decoys of other kinds with the same ids."""
    names = [
        {"kind": kind, "id": f"{level} 1", "name": f"{kind} of {level}"}
        for level in LEVELS for kind in LEVELS
    ]  # fmt: skip
    assert put(api, *names).status_code == 200


def read_names(api: Api, contact_id: int) -> list[dict[str, Any]]:
    """Return the names shown by List Events and by the journey."""
    [row] = api.rows(**CREDITED)
    params = {"include_events": 1}
    events = api.get(f"/contacts/{contact_id}", params=params).json()["events"]
    [touchpoint] = [item for item in events if item["type"] == "touchpoint"]
    return [{name: item[name] for name in NAMES} for item in (row, touchpoint)]


@pytest.mark.parametrize("level", LEVELS)
def test_an_id_is_shown_with_its_name(api: Api, stage: Stage, level: str) -> None:
    catalogue(api)
    contact_id = add_credited_event(stage, **ids(level))
    expected = {**dict.fromkeys(NAMES), f"{level}_name": f"{level} of {level}"}
    assert read_names(api, contact_id) == [expected, expected]


def test_a_name_of_its_own_stands(api: Api, stage: Stage) -> None:
    catalogue(api)
    own_names = {name: f"own {name}" for name in NAMES}
    contact_id = add_credited_event(stage, **ids(*LEVELS), **own_names)
    assert read_names(api, contact_id) == [own_names, own_names]


def test_a_new_name_shows_at_once_and_an_unknown_id_has_none(api: Api, stage: Stage) -> None:
    contact_id = add_credited_event(stage, **ids(*LEVELS))
    assert read_names(api, contact_id) == [dict.fromkeys(NAMES)] * 2
    catalogue(api)
    put(api, {"kind": "ad", "id": "ad 1", "name": "Renamed"})
    expected = {f"{level}_name": f"{level} of {level}" for level in LEVELS} | {"ad_name": "Renamed"}
    assert read_names(api, contact_id) == [expected] * 2


@pytest.mark.parametrize("fields", [["ad_name"], ["campaign_name", "account_name"], NAMES])
def test_any_fields_can_be_chosen(api: Api, stage: Stage, fields: list[str]) -> None:
    catalogue(api)
    add_credited_event(stage, **ids(*LEVELS))
    [row] = api.rows(**{**CREDITED, "fields[]": fields})
    assert {name: row[name] for name in fields} == {
        name: f"{name.removesuffix('_name')} of {name.removesuffix('_name')}" for name in fields
    }


def test_a_file_has_the_names_too(api: Api, stage: Stage, exports: Exports) -> None:
    catalogue(api)
    add_credited_event(stage, **ids(*LEVELS))
    query = {name.removesuffix("[]"): value for name, value in CREDITED.items()}
    query = {**query, "sources": ["google_ads"], "date": "2026-05-13"}
    assert exports.export(**query) == api.rows(**CREDITED)
    [line] = exports.export(**query)
    assert line["campaign_name"] == "campaign of campaign"
