"""A provider's sample: a delivery and its signature."""

from __future__ import annotations

import base64
import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

T0 = 1_778_670_000
T0_ISO = "2026-05-13T11:00:00Z"


@dataclass(frozen=True)
class Sample:
    """A delivery of one type, as its sender documents it, reduced to what matters."""

    type: str
    body: dict[str, Any]
    signature: str
    """The header with the signature."""
    sign: Callable[[bytes, str], str]
    """Returns the current value of that header for a body and a secret."""
    key: str | None = None
    """The idempotency key of the event. None if it includes the body's hash."""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    """Further headers of its deliveries."""


def digest(body: bytes, secret: str) -> bytes:
    return hmac.digest(secret.encode(), body, "sha256")


def in_hex(body: bytes, secret: str) -> str:
    return digest(body, secret).hex()


def in_base64(body: bytes, secret: str) -> str:
    return base64.b64encode(digest(body, secret)).decode()


def sign_with_time(body: bytes, secret: str) -> str:
    """Return the time and a signature over it and the body, in the format of Stripe and Calendly."""
    moment = int(time.time())
    return f"t={moment},v1={in_hex(b'%d.%s' % (moment, body), secret)}"
