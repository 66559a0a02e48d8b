"""Rows of the inbox as the pipeline takes them, and the reasons for which it sets some aside."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import msgspec


class InboxRow(NamedTuple):
    """A row of the inbox. `received_at` is in µs since 1970; `version` is the transaction that
    wrote the row as it is.
    """

    id: int
    kind: str
    sender: str
    received_at: int
    payload: str
    version: str


class RejectReason(StrEnum):
    """Reasons for which a row is set aside."""

    UNREADABLE_PAYLOAD = "unreadable_payload"
    UNKNOWN_KIND = "unknown_kind"
    PROCESSING_ERROR = "processing_error"
    NO_TOUCH = "no_touch"
    """A touchpoint that came back from a payment, a sign-in or the site itself."""


class Rejection(msgspec.Struct, frozen=True, gc=False):
    """A row to be set aside. `detail` never holds what the row contains."""

    id: int
    reason: RejectReason
    detail: str
