"""What the Segment endpoints refuse, and how. Any JSON gets a readable answer."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.intake.segment.endpoint import BATCH_PATHS, PATHS
from tests.segment.desk import PAGE, Desk
from tests.support.sites import ORIGIN

TRACK = {"userId": "u1", "event": "Signed Up"}


def test_it_works(desk: Desk) -> None:
    """A message without a person is refused with the rule, and nothing is stored."""
    refusal = desk.post("track", {"event": "Signed Up"})
    assert refusal.status_code == 400
    assert refusal.json() == {
        "success": False,
        "code": "bad_request",
        "message": "The userId is required unless anonymousId is given.",
        "errors": {"userId": ["The userId is required unless anonymousId is given."]},
    }
    assert desk.rows("id") == []
    assert desk.wait_for_ignored() == [("userId", "invalid", 1)]


class TestKeys:
    @pytest.mark.parametrize("key", ["trk_sk_unknown", "trk_pk_unknown1", "", "ä"])
    def test_a_wrong_key(self, desk: Desk, key: str) -> None:
        refusal = desk.post("track", {**TRACK, "writeKey": key}, key)
        assert (refusal.status_code, refusal.json()["code"]) == (401, "invalid_write_key")
        assert "write key" in refusal.json()["message"]

    def test_a_key_in_the_body(self, desk: Desk) -> None:
        assert desk.post("track", {**TRACK, "writeKey": desk.key}, key="").status_code == 200

    def test_an_api_key_without_the_scope(self, desk: Desk, make_key: Callable[..., str]) -> None:
        refusal = desk.post("track", TRACK, make_key(desk.stage.space_id, ["events:read"]))
        assert (refusal.status_code, refusal.json()["success"]) == (403, False)

    def test_an_api_key_in_a_page(self, desk: Desk) -> None:
        assert desk.post("track", TRACK, headers={"Origin": ORIGIN}).status_code == 403

    @pytest.mark.parametrize("origin", [None, "https://other.example", "nonsense"])
    def test_a_site_key_elsewhere(self, desk: Desk, origin: str | None) -> None:
        headers = {"Origin": origin} if origin else {}
        assert desk.post("track", TRACK, desk.site.key, headers).status_code == 403

    def test_two_spaces_are_separate(
        self, desk: Desk, make_space: Callable[..., int], make_key: Callable[..., str]
    ) -> None:
        other_key = make_key(make_space())
        for key in (desk.key, other_key):
            assert desk.post("track", {**TRACK, "messageId": "m1"}, key).status_code == 200
        assert len(desk.rows("id")) == 1
        desk.track("Song Played")
        assert desk.wait_for_ignored() == [("Song Played", "unknown_event", 1)]
        answer = httpx.get(
            f"{desk.base_url}/public-api/v1/ignored-events", headers={"Authorization": f"Bearer {other_key}"}
        )
        assert answer.json() == {"data": []}


class TestSizes:
    def test_a_large_message(self, desk: Desk) -> None:
        refusal = desk.post("track", {**TRACK, "properties": {"x": "y" * 33_000}})
        assert (refusal.status_code, refusal.json()["message"]) == (
            400,
            "The message must have at most 32 kB.",
        )

    def test_a_large_message_of_a_batch_is_refused_alone(self, desk: Desk) -> None:
        large = {"type": "track", **TRACK, "properties": {"x": "y" * 33_000}}
        assert desk.post("batch", {"batch": [large, {"type": "track", **TRACK}]}).status_code == 200
        assert len(desk.rows("id")) == 1
        assert desk.wait_for_ignored() == [("message", "invalid", 1)]

    def test_a_large_batch(self, desk: Desk) -> None:
        body = json.dumps({"batch": [{"type": "track", **TRACK, "x": "y" * 30_000}] * 150}).encode()
        refusal = desk.post("batch", body)
        assert (refusal.status_code, refusal.json()["code"]) == (413, "too_large")
        packed_refusal = desk.post("batch", gzip.compress(body), headers={"Content-Encoding": "gzip"})
        assert packed_refusal.status_code == 413

    @pytest.mark.parametrize("batch", [[], {}, None, [{"type": "track"}] * 1001])
    def test_a_batch_of_none_or_too_many(self, desk: Desk, batch: Any) -> None:
        refusal = desk.post("batch", {"batch": batch})
        assert (refusal.status_code, "batch" in refusal.json()["message"]) == (400, True)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("track", b"{"), ("track", b"[]"), ("track", b"\xff"), ("batch", b'{"batch": [}'),
        ("track", {**TRACK, "properties": "all"}), ("track", {**TRACK, "context": [1]}),
        ("track", {"userId": "u1"}), ("track", {**TRACK, "event": {"a": 1}}),
        ("track", {**TRACK, "event": "Order Completed", "properties": {"revenue": "much"}}),
        ("track", {**TRACK, "event": "Order Completed", "properties": {"currency": "crowns"}}),
        ("track", {**TRACK, "event": "Order Refunded"}), ("group", {"userId": "u1"}),
        ("alias", {"userId": "u1"}), ("identify", {"userId": "u\0"}),
        ("page", {"anonymousId": "a1", "properties": {"url": "ftp://shop.example/"}}),
        ("batch", {"batch": [{"type": "swim", "userId": "u1"}]}),
        ("track", b'{"userId": "u1", "event": "Signed Up", "properties": {"x": ' + b"1" * 5000 + b"}}"),
    ],
)  # fmt: skip
def test_a_malformed_message(desk: Desk, path: str, body: Any) -> None:
    refusal = desk.post(path, body)
    assert refusal.status_code == 400, refusal.text
    assert refusal.json()["success"] is False
    assert len(refusal.json()["message"]) > 10
    assert desk.rows("id") == []


@pytest.mark.parametrize("name", [b"\\ud83d", b"M\xfcller"])
def test_text_that_is_not_unicode_refuses_only_its_message(desk: Desk, name: bytes) -> None:
    wrong = b'{"type": "track", "userId": "u1", "event": "Signed Up", "properties": {"name": "%s"}}' % name
    valid = json.dumps({**TRACK, "type": "track"}).encode()
    assert desk.post("batch", b'{"batch": [%s, %s]}' % (wrong, valid)).status_code == 200
    assert len(desk.rows("id")) == 1
    assert desk.wait_for_ignored() == [("properties", "invalid", 1)]
    wrong_key = desk.post("batch", b'{"writeKey": "%s", "batch": [%s]}' % (name, valid), key="")
    assert wrong_key.status_code == 400


@pytest.mark.parametrize("packed", [b"plain", gzip.compress(b"{}")[:-4]])
def test_a_damaged_packed_body(desk: Desk, packed: bytes) -> None:
    assert desk.post("track", packed, headers={"Content-Encoding": "gzip"}).status_code == 400


def test_another_encoding(desk: Desk) -> None:
    assert desk.post("track", b"", headers={"Content-Encoding": "br"}).status_code == 415


TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["Order Completed", "Order Refunded", "Order Cancelled", "Signed Up", "Other"])
OBJECTS = {
    "properties": ("url", "referrer", "order_id", "revenue", "total", "currency", "email"),
    "traits": ("email", "phone", "name", "firstName", "company", "plan"),
    "context": ("page", "campaign", "ip", "userAgent", "locale", "traits", "groupId"),
}
MEMBERS: dict[str, Any] = {
    **dict.fromkeys(
        ("messageId", "timestamp", "originalTimestamp", "sentAt", "integrations", "groupId"), ANY
    ),
    **dict.fromkeys(("anonymousId", "userId", "previousId"), ANY | st.just("a1")),
    "event": ANY | NAMES,
    "type": ANY | st.sampled_from(sorted(set(PATHS.values()))),
    **{
        name: ANY | st.fixed_dictionaries({}, optional=dict.fromkeys(members, ANY))
        for name, members in OBJECTS.items()
    },
}
MESSAGE = st.fixed_dictionaries({}, optional=MEMBERS)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    path=st.sampled_from([path.rpartition("/")[2] for path in (*PATHS, *BATCH_PATHS)]),
    body=MESSAGE | ANY | st.fixed_dictionaries({"batch": st.lists(MESSAGE | ANY, max_size=3), "sentAt": ANY}),
    is_from_page=st.booleans(),
)
def test_any_json_gets_an_answer_in_words(desk: Desk, path: str, body: Any, is_from_page: bool) -> None:
    key, headers = (desk.site.key, PAGE) if is_from_page else (desk.key, {})
    response = desk.post(path, body, key, headers)
    assert response.status_code in (200, 400), response.text
    content = response.json()
    assert content["success"] is (response.status_code == 200)
    assert content["success"] or content["message"]
    desk.stage.process()
    assert desk.stage.values("rejected", "reason") == []
