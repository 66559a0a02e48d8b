"""Codes of authenticator apps: the RFC's examples, clock drift, and the address in the QR code."""

from __future__ import annotations

import base64
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from headwater.spaces.factors.totp import STEP_SECONDS, find_step, make_code, make_secret, make_uri

RFC = base64.b32encode(b"12345678901234567890").decode()
NOON = 1_700_000_010
STEP = NOON // STEP_SECONDS


@pytest.mark.parametrize(
    ("unix_time", "code"),
    [
        (59, "287082"),
        (1111111109, "081804"),
        (1111111111, "050471"),
        (1234567890, "005924"),
        (2000000000, "279037"),
        (20000000000, "353130"),
    ],
)
def test_it_works(unix_time: int, code: str) -> None:
    """RFC 6238, appendix B, shortened to the last six digits."""
    assert find_step(RFC, code, unix_time) == unix_time // STEP_SECONDS


@pytest.mark.parametrize(
    ("steps_ahead", "is_accepted"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)]
)
def test_drift_of_one_step(steps_ahead: int, is_accepted: bool) -> None:
    step = find_step(RFC, make_code(RFC, STEP + steps_ahead), NOON)
    assert step == (STEP + steps_ahead if is_accepted else None)


@pytest.mark.parametrize("text", ["", "28708", "2870820", "28708a", "२८७०८२", "+28708", "-12345"])
def test_bad_codes_are_refused(text: str) -> None:
    assert find_step(RFC, text, 59) is None


def test_each_secret_is_new() -> None:
    secrets = {make_secret() for _ in range(100)}
    assert len(secrets) == 100
    assert {len(base64.b32decode(secret)) for secret in secrets} == {20}


def test_the_address_names_account_and_issuer() -> None:
    parts = urlsplit(make_uri(RFC, "a+b@example.com", "Head & water"))
    assert (parts.scheme, parts.netloc) == ("otpauth", "totp")
    assert unquote(parts.path) == "/Head & water:a+b@example.com"
    assert dict(parse_qsl(parts.query)) == {
        "secret": RFC, "issuer": "Head & water", "algorithm": "SHA1", "digits": "6", "period": "30",
    }  # fmt: skip
