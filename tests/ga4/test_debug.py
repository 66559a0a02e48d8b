"""The Measurement Protocol's validation endpoint: what would be refused or ignored. It stores nothing."""

from __future__ import annotations

from headwater.intake.ga4.requests import MAX_EVENTS
from tests.ga4.desk import Ga4Desk, event


def test_it_works(desk: Ga4Desk) -> None:
    """Every event's errors are listed in order, by path, in Google's format."""
    messages = desk.check(
        event("purchase", transaction_id="T1", value="much", currency="EUR"),
        event("scroll"),
        event("refund", value=5),
        user_data={"sha256_phone_number": ["0" * 64]},
    )
    assert [(path, code) for path, code, _ in messages] == [
        ("user_data", "VALUE_INVALID"),
        ("events[0].params.value", "VALUE_INVALID"),
        ("events[1].name", "NAME_INVALID"),
        ("events[2].params.transaction_id", "VALUE_REQUIRED"),
    ]
    assert messages[1][2] == "The params.value must be a number."
    assert desk.rows("id") == []
    assert desk.ignored_counts() == []


def test_a_valid_request(desk: Ga4Desk) -> None:
    assert desk.check(event("purchase", transaction_id="T1", value=5)) == []
    assert desk.rows("id") == []


def test_a_request_that_cannot_be_read(desk: Ga4Desk) -> None:
    assert desk.check(event("sign_up"), client_id=None) == [
        ("client_id", "VALUE_REQUIRED", "The client_id is required unless user_id is given.")
    ]
    (message,) = desk.check(*[event("sign_up")] * (MAX_EVENTS + 1))
    assert message[:2] == ("events", "EXCEEDED_MAX_ENTITIES")


def test_the_secret_is_checked(desk: Ga4Desk) -> None:
    assert desk.request({}, "trk_sk_unknown", path="debug/mp/collect").status_code == 401
