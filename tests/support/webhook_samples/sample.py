"""A provider's sample: what its sender delivers, and how it proves that it is the sender."""

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
    """A delivery of one type, as its sender documents it, cut to what matters."""

    type: str
    body: dict[str, Any]
    signature: str
    """The header that the sender proves itself with."""
    sign: Callable[[bytes, str], str]
    """The value of that header now, for a body and a secret."""
    key: str | None = None
    """The idempotency key of the event; None where the body's hash is part of it."""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    """Those that its deliveries have besides."""


def digest(body: bytes, secret: str) -> bytes:
    return hmac.digest(secret.encode(), body, "sha256")


def in_hex(body: bytes, secret: str) -> str:
    return digest(body, secret).hex()


def in_base64(body: bytes, secret: str) -> str:
    return base64.b64encode(digest(body, secret)).decode()


def timestamped(body: bytes, secret: str) -> str:
    """The time and a signature over it and the body, as Stripe and Calendly write them."""
    moment = int(time.time())
    return f"t={moment},v1={in_hex(b'%d.%s' % (moment, body), secret)}"
