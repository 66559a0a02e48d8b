"""A platform has accepted events only if its answer says so in the platform's own format. Any other success,
for example from a proxy or a hotel's login page, isn't a confirmation.
"""

from __future__ import annotations

import pytest

from headwater.forwarding.platforms.models import Bisect, CallAccepted, CallDeferred, CallRefused
from headwater.forwarding.platforms.platform import Platform
from headwater.forwarding.platforms.registry import PLATFORMS
from tests.platforms.examples import answer

CONFIRMED = {
    "meta": {"events_received": 2, "messages": [], "fbtrace_id": "x"},
    "google": {"requestId": "r"},
    "tiktok": {"code": 0, "message": "OK"},
    "linkedin": {"elements": [{"status": 201}, {"status": 201}]},
    "reddit": {"data": {"message": "Successfully processed 2 conversion events."}},
    "pinterest": {
        "num_events_received": 2, "num_events_processed": 2,
        "events": [{"status": "processed"}, {"status": "processed"}],
    },
    "snapchat": {"status": "OK", "reason": "Events have been processed."},
    "microsoft": {"eventsReceived": 2, "traceId": "t"},
    "microsoft_offline": {"PartialErrors": []},
    "chatgpt_ads": {"accepted_events": 2},
}  # fmt: skip
UNPUBLISHED = {"reddit", "snapchat"}
"""Their format is unpublished, so any non-empty object is a confirmation."""
EVERY = pytest.mark.parametrize("platform", PLATFORMS.values(), ids=PLATFORMS)


@EVERY
def test_it_works(platform: Platform) -> None:
    assert platform.classify(answer(200, CONFIRMED[platform.name]), 2) == CallAccepted()


@EVERY
@pytest.mark.parametrize("status", [200, 202, 204])
@pytest.mark.parametrize(
    "body", [None, b"", b" \n", b"<html>Log in</html>", b"OK", b"[]", b'"OK"', b"null", b"2"]
)
def test_a_success_that_confirms_nothing(platform: Platform, status: int, body: object) -> None:
    verdict = platform.classify(answer(status, body), 2)
    assert isinstance(verdict, CallDeferred)
    assert str(status) in verdict.error


@EVERY
def test_an_object_of_somebody_else(platform: Platform) -> None:
    verdict = platform.classify(answer(200, {"ok": True}), 2)
    assert isinstance(verdict, CallAccepted if platform.name in UNPUBLISHED else CallDeferred)


def test_a_validation_by_google_is_answered_with_an_empty_object() -> None:
    assert PLATFORMS["google"].classify(answer(200, {}), 1) == CallAccepted()


def test_one_that_linkedin_created() -> None:
    assert PLATFORMS["linkedin"].classify(answer(201), 1) == CallAccepted()


@pytest.mark.parametrize("name", ["meta", "microsoft", "pinterest", "chatgpt_ads"])
def test_fewer_than_were_sent(name: str) -> None:
    member = {"meta": "events_received", "microsoft": "eventsReceived",
              "pinterest": "num_events_processed", "chatgpt_ads": "accepted_events"}[name]  # fmt: skip
    assert isinstance(PLATFORMS[name].classify(answer(200, {member: 1}), 2), Bisect)
    assert isinstance(PLATFORMS[name].classify(answer(200, {member: 0}), 1), CallRefused)
    assert isinstance(PLATFORMS[name].classify(answer(200, {member: True}), 1), CallDeferred)
