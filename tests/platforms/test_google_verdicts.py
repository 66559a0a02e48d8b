"""How Google's verdicts on the events of a request are read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.forwarding.platforms.google.verdict_reasons import REASONS
from headwater.forwarding.platforms.models import SkipReason
from headwater.forwarding.platforms.verdicts import (
    OTHER,
    EventVerdict,
    Verdicts,
    VerdictsDeferred,
    VerdictsPending,
    VerdictsUnavailable,
)
from tests.platforms.examples import answer
from tests.platforms.test_google import GOOGLE, TO

PARTS: dict[int, dict[str, Any] | None] = {
    0: {"destinationReferences": ["1"]}, 1: {"destinationReferences": ["2"]}, 2: None,
}  # fmt: skip
COUNTED = EventVerdict("counted")
REFUSED = EventVerdict("refused", "invalid_event")
LATER = EventVerdict("retrying", "internal_error")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def group(status: Any, *errors: Any, action: str | None = None) -> dict[str, Any]:
    return {"destination": {"productDestinationId": action}, "requestStatus": status,
            "errorInfo": {"errorCounts": list(errors)}}  # fmt: skip


def error(reason: str, *positions: int, count: int | None = None) -> dict[str, Any]:
    return {"reason": f"PROCESSING_ERROR_REASON_{reason}", "recordIndices": list(positions),
            "recordCount": str(len(positions) if count is None else count)}  # fmt: skip


def read(*groups: dict[str, Any]) -> Any:
    return GOOGLE.read_verdicts(answer(200, {"requestStatusPerDestination": list(groups)}), PARTS)


def test_it_works() -> None:
    call = GOOGLE.verdict_request("a b&c", TO)
    assert (call.method, call.url, call.headers) == (
        "GET", f"{TO.url}/v1/requestStatus:retrieve?requestId=a+b%26c", {"Authorization": "Bearer ***"},
    )  # fmt: skip
    assert read(group("SUCCESS")) == Verdicts({0: COUNTED, 1: COUNTED, 2: COUNTED})


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([group("PARTIAL_SUCCESS", error("INVALID_EVENT", 1))], {0: COUNTED, 1: REFUSED, 2: COUNTED}),
        # Google names fewer events than it counts, so the verdicts of the others are unknown.
        ([group("PARTIAL_SUCCESS", error("INVALID_EVENT", 1, count=2))], {1: REFUSED}),
        ([group("FAILED", error("INVALID_EVENT", count=3))], {0: REFUSED, 1: REFUSED, 2: REFUSED}),
        ([group("SUCCESS", action="1"), group("FAILED", error("INVALID_EVENT"), action="2")],
         {0: COUNTED, 1: REFUSED}),
        ([group("SUCCESS", action="1"), group("SUCCESS", action="2")], {0: COUNTED, 1: COUNTED, 2: COUNTED}),
        # The most serious of several reasons counts.
        ([group("FAILED", error("INTERNAL_ERROR", 0, 1, 2), error("INVALID_EVENT", 0, 1))],
         {0: REFUSED, 1: REFUSED, 2: LATER}),
    ],
)  # fmt: skip
def test_verdicts_name_their_events(groups: list[dict[str, Any]], expected: dict[int, EventVerdict]) -> None:
    assert read(*groups) == Verdicts(expected)


def test_indices_as_strings() -> None:
    wrong = {"reason": "PROCESSING_ERROR_REASON_INVALID_EVENT", "recordCount": "1", "recordIndices": ["1"]}
    assert read(group("PARTIAL_SUCCESS", wrong)).events[1] == REFUSED


@pytest.mark.parametrize(
    ("reason", "name"),
    [
        ("PROCESSING_ERROR_OPERATING_ACCOUNT_MISMATCH_FOR_AD_IDENTIFIER",
         "operating_account_mismatch_for_ad_identifier"),
        ("PROCESSING_ERROR_REASON_NO_CONSENT", "consent_missing"),
        ("PROCESSING_ERROR_REASON_CLICK_NOT_FOUND", "click_not_found"),
        ("PROCESSING_ERROR_REASON_UNSPECIFIED", OTHER),
        (7, OTHER),
    ],
)  # fmt: skip
def test_names_of_reasons(reason: Any, name: str) -> None:
    outcome = read(group("FAILED", {"reason": reason, "recordIndices": [0], "recordCount": "1"}))
    assert outcome.events[0].reason == name
    assert (outcome.events[0].error is None) == (name != OTHER)


def test_no_reason_is_a_skip_reason_too() -> None:
    """Deliveries are counted by reason, whatever their status."""
    assert not {*REASONS, OTHER} & {str(reason) for reason in SkipReason}


@pytest.mark.parametrize(
    "groups", [[], [group("PROCESSING")], [group("SUCCESS"), group("PROCESSING")], [group(None)], [group([])]]
)
def test_unfinished_requests_stay_pending(groups: list[dict[str, Any]]) -> None:
    assert read(*groups) == VerdictsPending()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (answer(404, {"error": {"status": "NOT_FOUND"}}), VerdictsUnavailable("NOT_FOUND")),
        (answer(400, {"error": {"status": "INVALID_ARGUMENT", "message": "m"}}),
         VerdictsUnavailable("INVALID_ARGUMENT: m")),
        (answer(404, b"<html>"), VerdictsDeferred()),
        (answer(403, {"error": {"status": "PERMISSION_DENIED"}}), VerdictsDeferred()),
        (answer(400, {"error": {"status": ["UNAUTHENTICATED"]}}),
         VerdictsUnavailable("['UNAUTHENTICATED']")),
        (answer(503), VerdictsDeferred()),
        (answer(200, b"<html>"), VerdictsDeferred()),
    ],
)  # fmt: skip
def test_no_verdicts(body: Any, expected: object) -> None:
    assert GOOGLE.read_verdicts(body, PARTS) == expected


@pytest.mark.parametrize(
    ("request_id", "expected"), [("r1", "r1"), ("", None), (1, None), ("r" * 201, None), ("a\0b", None)]
)
def test_request_ids(request_id: Any, expected: str | None) -> None:
    assert GOOGLE.read_request_id(answer(200, {"requestId": request_id})) == expected


@given(JSON, JSON, JSON)
def test_any_json_is_read(status: Any, errors: Any, indices: Any) -> None:
    odd = {"reason": status, "recordIndices": indices, "recordCount": errors}
    for body in (
        {"requestStatusPerDestination": status},
        {"requestStatusPerDestination": [group(status, odd, errors)], "error": errors},
        {"requestStatusPerDestination": [group("FAILED", odd, errors), {"requestStatus": "SUCCESS"}]},
    ):
        for code in (200, 400):
            GOOGLE.read_verdicts(answer(code, body), PARTS)
            GOOGLE.read_request_id(answer(code, body))
