"""Signatures of deliveries, checked with vectors computed from each sender's documentation."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from headwater.intake.webhooks.interpretation import check_signature
from headwater.intake.webhooks.models import ReadContext, UnverifiedRequest, WebhookRequest, WebhookSettings
from headwater.intake.webhooks.providers import PROVIDERS
from headwater.intake.webhooks.settings_input import read_settings
from headwater.spaces.encryption import Unsealable, derive_key, seal, unseal
from tests.support.webhooks import RECEIVED

BODY = b'{"id": "evt_1", "type": "x"}\n'
SECRET = b"whsec_abc"
T = int(RECEIVED)

HEX = hmac.new(SECRET, BODY, hashlib.sha256).hexdigest()
BASE64 = base64.b64encode(bytes.fromhex(HEX)).decode()
OTHER = hmac.new(b"other", BODY, hashlib.sha256).hexdigest()
OTHER_BASE64 = base64.b64encode(bytes.fromhex(OTHER)).decode()


def sign_with_time(time: int, secret: bytes = SECRET) -> str:
    return hmac.new(secret, b"%d." % time + BODY, hashlib.sha256).hexdigest()


def check(kind: str, header: str, value: str | None, settings: WebhookSettings | None = None) -> None:
    headers = {} if value is None else {header: value}
    reader = ReadContext(kind, settings or WebhookSettings())
    check_signature(reader, SECRET, WebhookRequest(headers, BODY, RECEIVED))


def test_it_works() -> None:
    """The vector is the output of `openssl dgst -sha256 -hmac whsec_abc`."""
    assert HEX == "21e8ddff044d082310f3725479bb4369375f05c4d4fa603c238b0219fdd61a76"
    check("shopify", "x-shopify-hmac-sha256", BASE64)


STAMPED = [("stripe", "stripe-signature", 300), ("calendly", "calendly-webhook-signature", 180)]


@pytest.mark.parametrize(("kind", "header", "tolerance"), STAMPED)
def test_timestamped(kind: str, header: str, tolerance: int) -> None:
    good = [
        f"t={T},v1={sign_with_time(T)}",
        f"t={T}, v1={sign_with_time(T)}",
        f"v1={sign_with_time(T)},t={T}",
        f"t={T},v1={OTHER},v1={sign_with_time(T)}",
        f"t={T},v1={sign_with_time(T)},v1={OTHER},v0={OTHER}",
        f"t={T - tolerance},v1={sign_with_time(T - tolerance)}",
        f"t={T + 60},v1={sign_with_time(T + 60)}",
    ]
    for value in good:
        check(kind, header, value)


@pytest.mark.parametrize(("kind", "header", "tolerance"), STAMPED)
def test_what_a_timestamped_one_must_not_be(kind: str, header: str, tolerance: int) -> None:
    old = T - tolerance - 1
    bad = [
        (None, "missing"),
        ("", "cannot be read"),
        (f"v1={sign_with_time(T)}", "cannot be read"),
        (f"t={T}", "cannot be read"),
        (f"t={T},t={T},v1={sign_with_time(T)}", "cannot be read"),
        (f"t=\u0661,v1={sign_with_time(T)}", "cannot be read"),
        (f"t={T},v1={OTHER}", "does not match"),
        (f"t={T},v1=", "does not match"),
        (f"t={T},v1=é", "does not match"),
        (f"t={T},v0={sign_with_time(T)}", "cannot be read"),
        (f"t={T + 1},v1={sign_with_time(T)}", "does not match"),
        (f"t={T},v1={sign_with_time(T, b'other')}", "does not match"),
        (f"t={old},v1={sign_with_time(old)}", "minutes old"),
    ]
    for value, reason in bad:
        with pytest.raises(UnverifiedRequest, match=reason):
            check(kind, header, value)


@pytest.mark.parametrize(
    ("kind", "header"), [("shopify", "x-shopify-hmac-sha256"), ("woocommerce", "x-wc-webhook-signature")]
)
def test_in_base64(kind: str, header: str) -> None:
    check(kind, header, BASE64)
    for value, reason in [
        (None, "missing"), ("", "does not match"), (HEX, "does not match"),
        (OTHER_BASE64, "does not match"), (BASE64[:-1], "does not match"), ("é", "does not match"),
    ]:  # fmt: skip
        with pytest.raises(UnverifiedRequest, match=reason):
            check(kind, header, value)


def test_generic() -> None:
    for value in (HEX, HEX.upper(), f"sha256={HEX}", BASE64, f"sha256={BASE64}"):
        check("generic", "x-signature", value)
    settings = read_settings("generic", {"signature_header": "X-Hub-Signature", "event": "contact"})
    check("generic", "x-hub-signature", HEX, settings)
    for value in (None, "", OTHER, f"sha256={OTHER}", OTHER_BASE64):
        with pytest.raises(UnverifiedRequest):
            check("generic", "x-signature", value)
    with pytest.raises(UnverifiedRequest):
        check("generic", "x-signature", HEX, settings)


def test_without_a_secret_nothing_is_asked_for() -> None:
    reader = ReadContext("generic", WebhookSettings())
    check_signature(reader, None, WebhookRequest({}, BODY, RECEIVED))


def test_only_woocommerce_s_ping_needs_none() -> None:
    for kind in PROVIDERS:
        reader = ReadContext(kind, WebhookSettings())
        if kind != "woocommerce":
            with pytest.raises(UnverifiedRequest):
                check_signature(reader, SECRET, WebhookRequest({}, b"webhook_id=7", RECEIVED))
        else:
            check_signature(reader, SECRET, WebhookRequest({}, b"webhook_id=7", RECEIVED))
            with pytest.raises(UnverifiedRequest):
                check_signature(reader, SECRET, WebhookRequest({}, b'{"webhook_id":7}', RECEIVED))


def test_secrets_are_sealed_to_their_webhook() -> None:
    key, other_key = derive_key("a" * 32), derive_key("b" * 32)
    sealed_secret = seal(key, "s3cret", b"1" * 32)
    assert b"s3cret" not in sealed_secret
    assert sealed_secret != seal(key, "s3cret", b"1" * 32)
    assert unseal(key, sealed_secret, b"1" * 32) == b"s3cret"
    for wrong in (
        (other_key, sealed_secret, b"1" * 32),
        (key, sealed_secret, b"2" * 32),
        (key, sealed_secret[:20], b"1"),
    ):
        with pytest.raises(Unsealable):
            unseal(*wrong)
