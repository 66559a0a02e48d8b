"""The rules that decide whether a delivery is sent."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headwater.forwarding.deliveries.eligibility import (
    AGE_MARGIN,
    RETRY_SECONDS,
    Decision,
    Expired,
    Later,
    PendingDelivery,
    Send,
    Skip,
    decide,
    keep_credited_click,
)
from headwater.forwarding.platforms.models import Click, Conversion, ConvertedPerson, Destination, SkipReason
from headwater.forwarding.platforms.platform import DAY, Limits
from tests.deliveries.staging import PLATFORM, Options
from tests.support.destinations import change_platform

NOW = 1_800_000_000.0
CLICK = Click(touchpoint_id=1, occurred_at=0, source="facebook_ads", ids={"fbclid": "x"})
CONVERSION = Conversion(
    event_id=1, dedup_id="1", event_name="purchase", event_time=int((NOW - 60) * 1000),
    person=ConvertedPerson(email="a@example.com"), click=CLICK,
)  # fmt: skip
DESTINATION = Destination(
    space_id=1, id=1, platform="meta", url="https://platform.example", settings=Options()
)


def make_decision(
    conversion: dict[str, Any] | None = None,
    destination: dict[str, Any] | None = None,
    **delivery_columns: Any,
) -> Decision:
    full_conversion = msgspec.structs.replace(CONVERSION, **(conversion or {}))
    delivery = PendingDelivery(
        **{"id": 1, "attempts": 0, "queued_at": NOW, "conversion": full_conversion, **delivery_columns}
    )
    full_destination = msgspec.structs.replace(DESTINATION, **(destination or {}))
    return decide(delivery, PLATFORM, full_destination, NOW)


def age_columns(seconds: float) -> dict[str, Any]:
    return {"event_time": int((NOW - seconds) * 1000)}


LIMIT = 7 * DAY - AGE_MARGIN


def test_it_works() -> None:
    assert make_decision() == Send(CONVERSION)


@pytest.mark.parametrize(
    ("expected", "delivery_columns"),
    [
        (Skip(SkipReason.DELETED), {"conversion": None}),
        (Skip(SkipReason.ERASED), {"erased": True}),
        (Skip(SkipReason.ERASED), {"erased": True, "do_not_capi": True}),
        (Skip(SkipReason.DO_NOT_CAPI), {"do_not_capi": True}),
    ],
)
def test_what_was_taken_back(expected: Decision, delivery_columns: dict[str, Any]) -> None:
    columns = {"id": 1, "attempts": 3, "queued_at": NOW, "conversion": CONVERSION, **delivery_columns}
    assert decide(PendingDelivery(**columns), PLATFORM, DESTINATION, NOW) == expected


@pytest.mark.parametrize(
    ("event_name", "names", "is_sent"),
    [
        ("purchase", {}, True), ("contact", {}, False), ("custom_event_1", {}, False),
        ("purchase", {"purchase": None}, False), ("purchase", {"purchase": ""}, False),
        ("contact", {"contact": "Contact"}, True), ("purchase", {"contact": "Contact"}, True),
    ],
)  # fmt: skip
def test_mapping(event_name: str, names: dict[str, str | None], *, is_sent: bool) -> None:
    decision = make_decision({"event_name": event_name}, {"event_names": names})
    assert isinstance(decision, Send) is is_sent
    assert is_sent or decision == Skip(SkipReason.NO_MAPPING)


def test_only_the_platforms_own_click_is_credited() -> None:
    google_click = {"click": msgspec.structs.replace(CLICK, source="google_ads")}
    assert make_decision(google_click) == Skip(SkipReason.NOT_ATTRIBUTED)
    assert make_decision({"click": None}) == Skip(SkipReason.NOT_ATTRIBUTED)
    assert keep_credited_click(CONVERSION, PLATFORM).click is CLICK


def test_all_events_go_without_the_click_of_another() -> None:
    google_click = {"click": msgspec.structs.replace(CLICK, source="google_ads")}
    for columns in (google_click, {"click": None}):
        decision = make_decision(columns, {"all_events": True})
        assert isinstance(decision, Send)
        assert decision.conversion.click is None
    decision = make_decision({}, {"all_events": True})
    assert isinstance(decision, Send)
    assert decision.conversion.click is CLICK


def test_the_platforms_limit_of_age() -> None:
    assert isinstance(make_decision(age_columns(LIMIT)), Send)
    assert make_decision(age_columns(LIMIT + 1)) == Skip(SkipReason.TOO_OLD)
    assert make_decision(age_columns(LIMIT + 1), attempts=1) == Expired()


@pytest.mark.parametrize(
    ("limit", "seconds_early", "waits"),
    [(0, 1, 1), (0, 7200, 7200), (60, 1, 1), (60, 240, 240), (300, 240, None), (300, 241, 1),
     (300, 86_400, 86_160), (0, 0, None)],
)  # fmt: skip
def test_an_event_of_the_future_waits(limit: float, seconds_early: float, waits: float | None) -> None:
    platform = change_platform(PLATFORM, limits=Limits(batch=1, age=7 * DAY, future=limit))
    conversion = msgspec.structs.replace(CONVERSION, **age_columns(-seconds_early))
    delivery = PendingDelivery(id=1, attempts=0, queued_at=NOW, conversion=conversion)
    decision = decide(delivery, platform, DESTINATION, NOW)
    assert decision == (Send(conversion) if waits is None else Later(NOW + waits))
    assert delivery.ends_at(platform) == NOW + (waits or 0) + RETRY_SECONDS


def test_what_is_skipped_for_good_does_not_wait_for_its_time() -> None:
    assert make_decision({**age_columns(-7200), "person": ConvertedPerson()}) == Skip(
        SkipReason.NO_IDENTIFIER
    )
    assert make_decision(age_columns(-7200), do_not_capi=True) == Skip(SkipReason.DO_NOT_CAPI)


def test_the_platforms_own_reasons_come_last() -> None:
    anonymous = {"person": ConvertedPerson()}
    assert make_decision(anonymous) == Skip(SkipReason.NO_IDENTIFIER)
    assert make_decision({**anonymous, **age_columns(LIMIT + 1)}) == Skip(SkipReason.TOO_OLD)
    assert make_decision({**anonymous, "click": None}) == Skip(SkipReason.NOT_ATTRIBUTED)


def test_the_end_is_that_of_retries_or_of_the_platform() -> None:
    delivery = PendingDelivery(id=1, attempts=0, queued_at=NOW, conversion=CONVERSION)
    assert delivery.ends_at(PLATFORM) == NOW + RETRY_SECONDS
    short = change_platform(PLATFORM, limits=Limits(batch=1, age=DAY))
    assert delivery.ends_at(short) == NOW - 60 + DAY - AGE_MARGIN
