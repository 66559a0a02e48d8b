"""Read the messages of Segment's tracking API. Pure."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Raw, Struct

from headwater.http.errors import Invalid
from headwater.http.inputs.instants import parse_instant
from headwater.intake.ingest.forms import decode_envelope
from headwater.intake.protocols.values import read_part

MAX_MESSAGE = 32 * 1024
"""Bytes of one message, which is Segment's limit."""
MAX_BATCH = 4 * 1024 * 1024
"""Bytes of a batch. Segment's libraries send 500 kB at most, RudderStack's this much."""
MOST_MESSAGES = 1000
"""Messages of a batch; libraries send about 100."""


class SegmentMessage(Struct, rename="camel"):
    """One call. Members can hold anything, because senders do."""

    type: Any = None
    message_id: Any = None
    anonymous_id: Any = None
    user_id: Any = None
    previous_id: Any = None
    group_id: Any = None
    event: Any = None
    name: Any = None
    properties: Any = None
    traits: Any = None
    context: Any = None
    integrations: Any = None
    timestamp: Any = None
    original_timestamp: Any = None
    sent_at: Any = None


class SegmentBody(Struct, rename="camel"):
    """The members of a body that are not a message's."""

    write_key: Any = None
    sent_at: Any = None
    batch: list[Raw] | None = None


_UTC = ("Z", "+00:00")

_decode_body = msgspec.json.Decoder(SegmentBody).decode
_decode_message = msgspec.json.Decoder(SegmentMessage, float_hook=Decimal).decode


def read_segment_body(body: bytes) -> SegmentBody:
    """Raise Invalid for a body that is not an object, or whose batch is not an array."""
    return decode_envelope(body, _decode_body, "batch", "must be an array of messages.")


def list_messages(envelope: SegmentBody) -> list[Raw]:
    """Return a batch's messages. Raises Invalid."""
    batch = envelope.batch
    if batch is None or not 1 <= len(batch) <= MOST_MESSAGES:
        raise Invalid.of("batch", f"must hold 1 to {MOST_MESSAGES} messages.")
    return batch


def read_message(raw: bytes) -> SegmentMessage:
    """Read a part of a decoded body. Raises Invalid."""
    if len(raw) > MAX_MESSAGE:
        raise Invalid.of("message", f"must have at most {MAX_MESSAGE // 1024} kB.")
    return read_part(raw, _decode_message, "message")


def find_delay(sent_at: Any, received_at: float) -> int:
    """Return the difference between our clock and the sender's, in ms; 0 if unknown."""
    sent_milliseconds = _read_moment(sent_at)
    return 0 if sent_milliseconds is None else round(received_at * 1000) - sent_milliseconds


def find_moment(message: SegmentMessage, delay: int) -> int | None:
    """Return when it happened, in ms since 1970, by our clock; None if unknown."""
    written_moment = _read_moment(message.timestamp)
    if written_moment is None:
        written_moment = _read_moment(message.original_timestamp)
    return None if written_moment is None else written_moment + delay


def _read_moment(value: Any) -> int | None:
    """Clocks may be wrong by years in either direction, so only the form is checked."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    try:
        if isinstance(value, str) and value.endswith(_UTC):  # as libraries write it; four times as fast
            return round(datetime.fromisoformat(value).timestamp() * 1000)
        return round(parse_instant(value) * 1000)
    except (ValueError, OverflowError):
        return None
