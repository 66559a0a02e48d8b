"""GET /contacts/{id}/journey: everything that a contact did, in pages of bounded cost."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import API
from tests.events.test_long_paths import TOUCHPOINTS
from tests.support.factories import NOON, Stage, make_stage
from tests.support.reading_fixtures import Api, journey_items

MOST_PAGES = 100


def journey(api: Api, contact_id: int, **params: Any) -> dict[str, Any]:
    response = api.get(f"/contacts/{contact_id}/journey", params=params)
    assert response.status_code == 200, response.text
    return response.json()


def items(page: dict[str, Any]) -> list[tuple[str, int]]:
    return [(item["type"], item["id"]) for item in page["data"]]


def follow(api: Api, page: dict[str, Any], link: str) -> list[dict[str, Any]]:
    """Return the pages that a link leads to, one after another."""
    pages: list[dict[str, Any]] = []
    while url := page[link]:
        page = api.get(f"{urlsplit(url).path.removeprefix(API)}?{urlsplit(url).query}").json()
        pages.append(page)
        assert len(pages) <= MOST_PAGES
    return pages


def test_it_works(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    for n, source in enumerate(("google_ads", "direct", "facebook_ads")):
        stage.touchpoint(contact_id, source, occurred_at=NOON + timedelta(hours=n))
    stage.event(contact_id, event_time=NOON + timedelta(days=1), amount=5)
    for hide in (0, 1):
        params = {"include_events": 1, "hide_direct_touchpoints": hide}
        expected_items = journey_items(api.get(f"/contacts/{contact_id}", params=params).json()["events"])
        page = journey(api, contact_id, hide_direct_touchpoints=hide)
        assert page["data"] == expected_items
        assert (page["next_cursor"], page["prev_cursor"]) == (None, None)
        first = journey(api, contact_id, hide_direct_touchpoints=hide, per_page=2)
        later_pages = follow(api, first, "next_page_url")
        assert [item for answer in (first, *later_pages) for item in answer["data"]] == expected_items
    assert journey(api, stage.contact())["data"] == []


@given(moments=st.lists(st.tuples(st.booleans(), st.integers(0, 2)), max_size=12), per_page=st.integers(1, 4))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pages_are_the_same_list_both_ways(
    api: Api, stage: Stage, moments: list[tuple[bool, int]], per_page: int
) -> None:
    """This also holds if conversions and touchpoints of one moment and one id are split between two pages."""
    contact_id = stage.contact()
    for is_conversion, minute in moments:
        moment = NOON + timedelta(minutes=minute)
        number = stage.touchpoint(contact_id, "email", occurred_at=moment)
        if is_conversion:
            stage.event(contact_id, id=number, event_time=moment)
    expected_items = items(journey(api, contact_id, per_page=1000))
    first = journey(api, contact_id, per_page=per_page)
    forward = [first, *follow(api, first, "next_page_url")]
    assert [item for page in forward for item in items(page)] == expected_items
    backward = [forward[-1], *follow(api, forward[-1], "prev_page_url")]
    assert [item for page in reversed(backward) for item in items(page)] == expected_items


def test_what_arrives_meanwhile_moves_nothing(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    older = [stage.event(contact_id, event_time=NOON + timedelta(hours=n)) for n in range(4)]
    first = journey(api, contact_id, per_page=2)
    stage.event(contact_id, event_time=NOON + timedelta(days=1))
    (second,) = follow(api, first, "next_page_url")
    assert [item["id"] for item in second["data"]] == older[1::-1]


def test_a_long_journey_is_read_to_its_end(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    values = {"space": stage.space_id, "contact": contact_id, "count": 5_000}
    stage.connection.execute(TOUCHPOINTS, values)
    first = journey(api, contact_id, per_page=1000, hide_direct_touchpoints=0)
    pages = [first, *follow(api, first, "next_page_url")]
    assert [len(page["data"]) for page in pages] == [1000] * 5
    assert len({item for page in pages for item in items(page)}) == 5_000


def test_a_cursor_belongs_to_its_list(api: Api, stage: Stage) -> None:
    contact_id, other_id = stage.contact(), stage.contact()
    for owner in (contact_id, other_id):
        for _ in range(2):
            stage.event(owner)
    cursor = journey(api, contact_id, per_page=1)["next_cursor"]
    merged_id = stage.contact(merged_into=contact_id)
    (next_page,) = follow(api, journey(api, merged_id, per_page=1), "next_page_url")
    assert next_page["data"] == journey(api, contact_id, cursor=cursor)["data"]
    assert journey(api, contact_id, hide_direct_touchpoints=1, cursor=cursor)["data"]
    for number, params in ((other_id, {}), (contact_id, {"hide_direct_touchpoints": 0})):
        response = api.get(f"/contacts/{number}/journey", params={**params, "cursor": cursor})
        assert (response.status_code, set(response.json()["errors"])) == (422, {"cursor"})


def test_what_breaks_a_rule_is_named(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    params = {"per_page": "1001", "hide_direct_touchpoints": "x", "cursor": "x"}
    response = api.get(f"/contacts/{contact_id}/journey", params=params)
    assert (response.status_code, set(response.json()["errors"])) == (422, set(params))


def test_contacts_of_others_are_unknown(api: Api, connection: psycopg.Connection) -> None:
    for contact_id in (make_stage(connection).contact(), 999_999_999_999):
        response = api.get(f"/contacts/{contact_id}/journey")
        assert (response.status_code, response.json()) == (404, {"message": "Contact not found."})


def test_it_needs_the_scope(client: httpx.Client, connection: psycopg.Connection) -> None:
    stage = make_stage(connection, scopes=("contacts:read",))
    response = Api(client, stage.key).get(f"/contacts/{stage.contact()}/journey")
    assert (response.status_code, "reports:read" in response.text) == (403, True)
