"""Readers of messages from Segment's libraries, which anyone can send from a page."""

from __future__ import annotations

import json

from headwater.events.browsing.places import NOWHERE, Places
from headwater.http.errors import Invalid
from headwater.intake.protocols.event_names import Labels, normalize
from headwater.intake.protocols.payloads import LONGEST_ADDRESS, add_campaign
from headwater.intake.protocols.translation import IgnoredMessage, Translator
from headwater.intake.segment.calls import SegmentCalls
from headwater.intake.segment.messages import (
    MAX_BATCH,
    MAX_MESSAGE,
    list_messages,
    read_message,
    read_segment_body,
)
from headwater.intake.segment.write_keys import LONGEST_KEY, read_write_key
from tests.hostile.growth import Door

NOW = 1_790_000_000.0
KINDS = ("track", "identify", "page", "group", "alias")
LABELS = Labels({}, {"plan": "profile_field_1", "seats": "profile_field_16", "since": "profile_field_26"})
PLACES = Places(None)


def _translate(body: bytes) -> None:
    """Read a message as each kind, as far as possible."""
    assert PLACES.find("x") == NOWHERE
    for kind in KINDS:
        message = read_message(body)
        message.type = kind
        try:
            SegmentCalls(Translator(LABELS, PLACES, NOW), message.sent_at).translate(message)
        except (Invalid, IgnoredMessage):
            continue


def _fill(text: str) -> None:
    """Read a message whose members are all texts."""
    members = {
        "properties": dict.fromkeys(("url", "referrer", "order_id", "revenue", "currency", "email"), text),
        "traits": {**dict.fromkeys(("plan", "seats", "since", "email", "phone", "name"), text),
                   "company": {"id": text, "name": text}},
        "context": {**dict.fromkeys(("ip", "userAgent", "locale", "groupId"), text),
                    "campaign": dict.fromkeys(("name", "source"), text)},
        **dict.fromkeys(("timestamp", "sentAt", "previousId", "groupId", "messageId"), text),
    }  # fmt: skip
    for event in ("Order Completed", "Order Refunded", text):
        _translate(json.dumps({"userId": "u1", "anonymousId": "a1", "event": event, **members}).encode())


SEGMENT_TEXT_DOORS = [
    Door("segment.fields", _fill, LONGEST_ADDRESS),
    Door("segment.campaign", lambda text: add_campaign(text, {"name": text}), LONGEST_ADDRESS),
    Door("segment.event_name", normalize, MAX_MESSAGE),
    Door("segment.write_key", lambda text: read_write_key(b"Basic " + text.encode(), text), LONGEST_KEY),
]
SEGMENT_JSON_DOORS = [
    Door("segment.message", _translate, MAX_MESSAGE),
    Door("segment.batch", lambda body: list_messages(read_segment_body(body)), MAX_BATCH),
]
