"""Time-based one-time passwords (RFC 6238) of authenticator apps: SHA-1, 6 digits, 30 seconds. Pure."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from urllib.parse import quote, urlencode

STEP_SECONDS = 30
DIGITS = 6
DRIFT = 1
"""Time steps that a phone's clock may be off, in each direction."""
_SECRET_BYTES = 20
_CODE = re.compile(r"[0-9]{6}", re.ASCII)


def make_secret() -> str:
    """Return 160 random bits in Base32, 32 characters."""
    return base64.b32encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def make_code(secret: str, step: int) -> str:
    digest = hmac.digest(base64.b32decode(secret), step.to_bytes(8, "big"), hashlib.sha1)
    offset = digest[-1] & 0xF
    number = int.from_bytes(digest[offset : offset + 4], "big") & 0x7FFFFFFF
    return f"{number % 10**DIGITS:0{DIGITS}}"


def is_code(text: str) -> bool:
    return _CODE.fullmatch(text) is not None


def find_step(secret: str, code: str, unix_time: float) -> int | None:
    """Return the time step of a code, within DRIFT of the current one."""
    if not is_code(code):
        return None
    current = int(unix_time) // STEP_SECONDS
    steps = range(current - DRIFT, current + DRIFT + 1)
    matches = [step for step in steps if hmac.compare_digest(make_code(secret, step), code)]
    return max(matches, default=None)


def make_uri(secret: str, account: str, issuer: str) -> str:
    """Return the address in the QR code that apps scan."""
    label = quote(f"{issuer}:{account}", safe="")
    parameters = {"secret": secret, "issuer": issuer, "algorithm": "SHA1", "digits": DIGITS}
    return f"otpauth://totp/{label}?{urlencode(parameters, quote_via=quote)}&period={STEP_SECONDS}"
