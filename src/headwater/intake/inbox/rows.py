from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import msgspec


class InboxRow(NamedTuple):
    """`received_at` is in µs since 1970; `version` is the last writing transaction."""

    id: int
    kind: str
    sender: str
    received_at: int
    payload: str
    version: str


class RejectReason(StrEnum):
    UNREADABLE_PAYLOAD = "unreadable_payload"
    UNKNOWN_KIND = "unknown_kind"
    PROCESSING_ERROR = "processing_error"
    NO_TOUCH = "no_touch"
    """A return from a payment, a sign-in or the site itself."""


class Rejection(msgspec.Struct, frozen=True, gc=False):
    """`detail` never holds the row's content."""

    id: int
    reason: RejectReason
    detail: str
