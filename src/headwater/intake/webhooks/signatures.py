"""Verify senders' signatures. Pure.

All are HMAC-SHA256 over the raw body; prefix, encoding and header differ.
"""

from __future__ import annotations

import base64
import hmac
import re

from headwater.intake.webhooks.models import UnverifiedRequest, WebhookRequest

_SECONDS = re.compile("[0-9]{1,12}")

MISSING = "The signature is missing: no header {header}."
WRONG = "The signature does not match: the signing secret is different, or the body was changed."
UNREADABLE = "The signature in {header} cannot be read."
OLD = "The signature is more than {minutes} minutes old."
OFF = "The signature's time is more than {minutes} minutes from now."

STANDARD_ID = "webhook-id"
STANDARD_TIME = "webhook-timestamp"
STANDARD_SIGNATURE = "webhook-signature"


def check_timestamped(secret: bytes, message: WebhookRequest, header: str, tolerance: int) -> None:
    """Verify `t=<seconds>,v1=<hex>`, over `<seconds>.<body>`; several v1 while a secret is rotated. Raises
    UnverifiedRequest, also if older than `tolerance` seconds.
    """
    pairs = [item.strip().partition("=") for item in _get_header(message, header).split(",")]
    times = [value for name, _, value in pairs if name == "t"]
    signatures = [value for name, _, value in pairs if name == "v1"]
    if len(times) != 1 or not _SECONDS.fullmatch(times[0]) or not signatures:
        raise UnverifiedRequest(UNREADABLE.format(header=header))
    signature = hmac.digest(secret, times[0].encode() + b"." + message.body, "sha256").hex()
    if not _any_equal(signatures, signature):
        raise UnverifiedRequest(WRONG)
    if int(times[0]) < message.received_at - tolerance:
        raise UnverifiedRequest(OLD.format(minutes=tolerance // 60))


def check_standard(secret: bytes, message: WebhookRequest, tolerance: int) -> None:
    """Verify Standard Webhooks: `v1,<base64>` over `<id>.<seconds>.<body>`, several while a secret is
    rotated. A secret is `whsec_` and a base64 key. Raises UnverifiedRequest, also if more than `tolerance`
    seconds off.
    """
    delivery_id, sent_at = _get_header(message, STANDARD_ID), _get_header(message, STANDARD_TIME)
    versions = [item.partition(",") for item in _get_header(message, STANDARD_SIGNATURE).split()]
    signatures = [text for version, _, text in versions if version == "v1"]
    if not _SECONDS.fullmatch(sent_at) or not signatures:
        raise UnverifiedRequest(UNREADABLE.format(header=STANDARD_SIGNATURE))
    signed = b".".join((delivery_id.encode("utf-8", "replace"), sent_at.encode(), message.body))
    digest = hmac.digest(_standard_key(secret), signed, "sha256")
    if not _any_equal(signatures, base64.b64encode(digest).decode()):
        raise UnverifiedRequest(WRONG)
    if abs(int(sent_at) - message.received_at) > tolerance:
        raise UnverifiedRequest(OFF.format(minutes=tolerance // 60))


def _standard_key(secret: bytes) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix(b"whsec_"), validate=True)
    except ValueError:  # not base64: the secret itself is the key
        return secret


def check_base64(secret: bytes, message: WebhookRequest, header: str) -> None:
    """Raise UnverifiedRequest if the signature is wrong."""
    signature = base64.b64encode(hmac.digest(secret, message.body, "sha256")).decode()
    if not _any_equal([_get_header(message, header).strip()], signature):
        raise UnverifiedRequest(WRONG)


def check_any_form(secret: bytes, message: WebhookRequest, header: str) -> None:
    """Accept hex, optionally after `sha256=`, or base64. Raises UnverifiedRequest."""
    digest = hmac.digest(secret, message.body, "sha256")
    signatures = [_get_header(message, header).strip().removeprefix("sha256=")]
    is_hex_equal = _any_equal([signatures[0].lower()], digest.hex())
    if not _any_equal(signatures, base64.b64encode(digest).decode()) and not is_hex_equal:
        raise UnverifiedRequest(WRONG)


def _get_header(message: WebhookRequest, header: str) -> str:
    value = message.headers.get(header)
    if value is None:
        raise UnverifiedRequest(MISSING.format(header=header))
    return value


def _any_equal(signatures: list[str], signature: str) -> bool:
    """Compare in constant time."""
    digest = signature.encode()
    matches = [hmac.compare_digest(text.encode("utf-8", "replace"), digest) for text in signatures]
    return any(matches)
