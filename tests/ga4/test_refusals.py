"""What the Measurement Protocol's endpoint refuses, and how. Any JSON gets a readable answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.intake.ga4.requests import MAX_BODY, MAX_EVENTS
from tests.ga4.desk import VISITOR, Ga4Desk, event
from tests.segment.desk import PAGE
from tests.segment.test_refusals import ANY
from tests.support.sites import ORIGIN

BODY: dict[str, Any] = {"client_id": VISITOR, "events": [event("sign_up")]}


def test_it_works(desk: Ga4Desk) -> None:
    """An invalid event is refused with its field, while a valid event in the same request is stored."""
    refused_event = event("purchase", transaction_id="T1", value="much")
    answer = desk.request({**BODY, "events": [refused_event, event("sign_up")]})
    assert answer.status_code == 200
    rule = "The params.value must be a number."
    assert answer.json() == {
        "message": "1 of 2 events were refused.",
        "errors": {"events.0.params.value": [rule]},
    }
    assert desk.rows("event_name") == [("sign_up",)]
    assert desk.wait_for_ignored() == [("value", "invalid", 1)]
    single_answer = desk.request({**BODY, "events": [refused_event]})
    assert (single_answer.status_code, single_answer.json()["errors"]) == (
        422,
        {"events.0.params.value": [rule]},
    )


class TestSecrets:
    @pytest.mark.parametrize("secret", ["trk_sk_unknown", "trk_pk_unknown1", "", "ä"])
    def test_a_wrong_secret(self, desk: Ga4Desk, secret: str) -> None:
        refusal = desk.request(BODY, secret)
        assert (refusal.status_code, "api_secret" in refusal.json()["message"]) == (401, True)

    def test_an_api_key_without_the_scope(self, desk: Ga4Desk, make_key: Callable[..., str]) -> None:
        assert desk.request(BODY, make_key(desk.stage.space_id, ["events:read"])).status_code == 403

    def test_an_api_key_in_a_page(self, desk: Ga4Desk) -> None:
        refusal = desk.request(BODY, headers={"Origin": ORIGIN})
        assert (refusal.status_code, refusal.headers["access-control-allow-origin"]) == (403, ORIGIN)

    @pytest.mark.parametrize("origin", [None, "https://other.example"])
    def test_a_site_key_elsewhere(self, desk: Ga4Desk, origin: str | None) -> None:
        headers = {"Origin": origin} if origin else {}
        assert desk.request(BODY, desk.site.key, headers).status_code == 403

    def test_two_spaces_are_separate(
        self, desk: Ga4Desk, make_space: Callable[..., int], make_key: Callable[..., str]
    ) -> None:
        for key in (desk.key, make_key(make_space())):
            assert desk.request(BODY, key).status_code == 204
        assert len(desk.rows("id")) == 1


def test_as_many_events_as_a_request_may_hold(desk: Ga4Desk) -> None:
    desk.collect(*[event("sign_up")] * MAX_EVENTS)
    assert desk.rows("event_name") == [("sign_up",)] * MAX_EVENTS


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"client_id": None}, "client_id"), ({"client_id": {}}, "client_id"), ({"user_id": [1]}, "user_id"),
        ({"timestamp_micros": 1_790_000_000}, "timestamp_micros"),
        ({"timestamp_micros": "now"}, "timestamp_micros"),
        ({"timestamp_micros": True}, "timestamp_micros"), ({"user_properties": []}, "user_properties"),
        ({"user_data": "x"}, "user_data"), ({"device": 1}, "device"),
        ({"consent": {"ad_user_data": True}}, "consent.ad_user_data"), ({"consent": "all"}, "consent"),
        ({"events": []}, "events"), ({"events": None}, "events"), ({"events": {}}, "events"),
        ({"events": [event("sign_up")] * (MAX_EVENTS + 1)}, "events"),
        ({"events": [3]}, "events.0.event"), ({"events": [{"params": {}}]}, "events.0.name"),
        ({"events": [{"name": "sign_up", "params": []}]}, "events.0.params"),
        ({"events": [{"name": "sign_up", "timestamp_micros": 5}]}, "events.0.timestamp_micros"),
        ({"events": [event("purchase", currency="crowns")]}, "events.0.params.currency"),
        ({"events": [event("purchase", transaction_id={"id": 1})]}, "events.0.params.transaction_id"),
        ({"events": [event("refund")]}, "events.0.params.transaction_id"),
        ({"events": [event("refund", transaction_id="T1", items=[{}])]}, "events.0.params.value"),
        ({"events": [event("page_view", page_location="ftp://a.example/")]}, "events.0.params.page_location"),
        ({"user_agent": "\0"}, "user_agent"),
    ],
)  # fmt: skip
def test_a_malformed_request(desk: Ga4Desk, members: dict[str, Any], field: str) -> None:
    refusal = desk.request({**BODY, **members})
    assert refusal.status_code == 422, refusal.text
    assert list(refusal.json()["errors"]) == [field]
    assert desk.rows("id") == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff"])
def test_a_malformed_body(desk: Ga4Desk, body: bytes) -> None:
    refusal = desk.request(body)
    assert (refusal.status_code, list(refusal.json()["errors"])) == (422, ["body"])


@pytest.mark.parametrize("text", [b"\\ud83d", b"M\xfcller", b"\\u0000"])
def test_unstorable_text_refuses_only_its_event(desk: Ga4Desk, text: bytes) -> None:
    wrong = b'{"name": "purchase", "params": {"value": 1, "transaction_id": "%s"}}' % text
    body = b'{"client_id": "c1", "events": [%s, {"name": "sign_up"}]}' % wrong
    answer = desk.request(body)
    assert answer.status_code == 200, answer.text
    assert list(answer.json()["errors"]) == ["events.0.params.transaction_id"]
    assert desk.rows("event_name") == [("sign_up",)]
    wrong_person = desk.request(b'{"client_id": "%s", "events": [{"name": "sign_up"}]}' % text)
    assert wrong_person.status_code == 422


def test_a_large_body(desk: Ga4Desk) -> None:
    body = json.dumps({**BODY, "x": "y" * MAX_BODY}).encode()
    assert desk.request(body).status_code == 413


def test_a_negative_amount_of_a_page(desk: Ga4Desk) -> None:
    refusal = desk.view(event("purchase", value=-5))
    assert list(refusal.json()["errors"]) == ["events.0.params.value"]


PARAMS = ("transaction_id", "value", "currency", "items", "page_location", "event_id", "source")
EVENTS = st.fixed_dictionaries(
    {},
    optional={
        "name": ANY | st.sampled_from(["purchase", "refund", "page_view", "sign_up", "other"]),
        "params": ANY | st.fixed_dictionaries({}, optional=dict.fromkeys(PARAMS, ANY)),
        "timestamp_micros": ANY,
    },
)
MEMBERS = (
    "user_id", "app_instance_id", "timestamp_micros", "user_properties", "user_data", "consent",
    "non_personalized_ads", "user_agent", "ip_override", "device",
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    body=ANY
    | st.fixed_dictionaries(
        {"client_id": ANY | st.just("a1"), "events": ANY | st.lists(EVENTS, max_size=3)},
        optional=dict.fromkeys(MEMBERS, ANY),
    ),
    is_from_page=st.booleans(),
    path=st.sampled_from(["mp/collect", "debug/mp/collect"]),
)
def test_any_json_gets_an_answer_in_words(desk: Ga4Desk, body: Any, is_from_page: bool, path: str) -> None:
    key, headers = (desk.site.key, PAGE) if is_from_page else (desk.key, {})
    answer = desk.request(body, key, headers, path)
    assert answer.status_code in (200, 204, 422), answer.text
    assert answer.status_code == 204 or answer.json().keys() <= {"message", "errors", "validationMessages"}
    desk.stage.process()
    assert desk.stage.values("rejected", "reason") == []
