"""Verdicts from answers of Google's token endpoint and API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.base.egress.models import EgressResponse
from headwater.base.egress.oauth import IssuedToken
from headwater.forwarding.platforms.models import (
    Bisect,
    CallAccepted,
    CallDeferred,
    CallRefused,
    CredentialsRefused,
    PartlyAccepted,
)
from tests.platforms.examples import CONVERSION, answer, stranger_example
from tests.platforms.test_google import GOOGLE, TO

GRANTED = {"access_token": "ya29.x", "expires_in": 3599, "token_type": "Bearer"}


@pytest.mark.parametrize(
    ("response", "expected"),  # the token, or whether the error is temporary
    [
        (answer(200, GRANTED), ("ya29.x", 3599.0)),
        (answer(200, {"access_token": "t"}), ("t", 3600.0)),
        (answer(200, {**GRANTED, "expires_in": 0}), ("ya29.x", 60.0)),
        (answer(400, {"error": "invalid_grant", "error_description": "Bye."}), False),
        (answer(401, {"error": "invalid_client"}), False),
        (answer(403), False),
        (answer(200, {}), False),
        (answer(429, {"error": "rate_limit_exceeded"}), True),
        (answer(400, {"error": "temporarily_unavailable"}), True),
        (answer(503), True),
        (answer(400, b"<html>"), True),
    ],
)
def test_token_answers(response: EgressResponse, expected: object) -> None:
    outcome = GOOGLE.read_token(response)
    assert (outcome[:2] if isinstance(outcome, IssuedToken) else outcome.is_temporary) == expected


def status(name: str, code: int, *details: dict[str, Any]) -> EgressResponse:
    return answer(code, {"error": {"code": code, "message": "m", "status": name,
                                   "details": list(details)}})  # fmt: skip


def about(*fields: str) -> dict[str, Any]:
    return {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [{"field": field, "description": "bad"} for field in fields],
    }


def error_info(reason: str) -> dict[str, Any]:
    return {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}


ERROR_INFO = error_info("INVALID_HEX_ENCODING")
BUSY = {"RESOURCE_EXHAUSTED": 429, "INTERNAL": 500, "UNAVAILABLE": 503, "DEADLINE_EXCEEDED": 504}


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (answer(200, {"requestId": "r"}), CallAccepted),
        (answer(200, {"requestId": "r", "fieldWarnings": [{}]}), CallAccepted),
        (answer(200), CallDeferred),
        (status("UNAUTHENTICATED", 401), CredentialsRefused),
        (status("PERMISSION_DENIED", 403), CredentialsRefused),
        (
            status("FAILED_PRECONDITION", 400, error_info("TERMS_AND_CONDITIONS_NOT_SIGNED")),
            CredentialsRefused,
        ),
        (status("INVALID_ARGUMENT", 400, error_info("CONVERSION_ACTION_TOO_RECENTLY_CREATED")), CallDeferred),
        *[(status(name, code), CallDeferred) for name, code in BUSY.items()],
        (status("INVALID_ARGUMENT", 400), Bisect),
        (status("INVALID_ARGUMENT", 400, about("destinations[0].product_destination_id")), Bisect),
        (status("INVALID_ARGUMENT", 400, about("events.events[9].currency")), Bisect),
        (status("NOT_FOUND", 404), Bisect),
        (status("INVALID_ARGUMENT", 200), Bisect),
        (status("SOMETHING_NEW", 200), CallDeferred),
        (answer(200, {"error": {}}), CallDeferred),
        (answer(401), CredentialsRefused),
        (answer(403, {"error": "x"}), CredentialsRefused),
        (answer(429), CallDeferred),
        (answer(500, b"<html>"), CallDeferred),
        (answer(200, b"<html>"), CallDeferred),
        (answer(404), CallRefused),
    ],
)
def test_answers(response: EgressResponse, kind: type) -> None:
    assert type(GOOGLE.classify(response, 5)) is kind


def test_the_events_at_fault_are_named() -> None:
    fields = ("events.events[3].user_data", "events.events[0].currency", "events.events[3].x")
    verdict = GOOGLE.classify(status("INVALID_ARGUMENT", 400, ERROR_INFO, about(*fields)), 5)
    assert isinstance(verdict, PartlyAccepted)
    assert verdict.others_taken is False
    assert verdict.errors == {
        0: "INVALID_HEX_ENCODING: events.events[0].currency: bad",
        3: "INVALID_HEX_ENCODING: events.events[3].user_data: bad",
    }
    single_verdict = GOOGLE.classify(status("INVALID_ARGUMENT", 400, about("events[0].currency")), 1)
    assert single_verdict == CallRefused("events[0].currency: bad")


def test_how_long_google_asks_to_wait() -> None:
    wait = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "31.5s"}
    verdict = GOOGLE.classify(status("RESOURCE_EXHAUSTED", 429, wait), 2)
    assert isinstance(verdict, CallDeferred)
    assert verdict.wait_seconds == 31.5


@given(st.uuids())
def test_what_is_shown_says_nothing_of_the_person(number: Any) -> None:
    conversion, secret = stranger_example(number.hex)
    payload = GOOGLE.build(conversion, TO)
    redacted_payload = GOOGLE.redact(payload)
    assert [value for value in secret if value in json.dumps(redacted_payload)] == []
    assert all(
        value not in json.dumps(redacted_payload)
        for identifier in payload["userData"]["userIdentifiers"]
        for value in identifier.values()
    )
    assert redacted_payload["transactionId"] == CONVERSION.dedup_id
    assert redacted_payload["eventTimestamp"] == "2026-11-20T10:15:30Z"
    assert redacted_payload["conversionValue"] == 149.9
    assert redacted_payload["destinationReferences"] == ["555000111"]
