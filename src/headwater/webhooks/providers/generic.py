"""Anything that can post JSON. What it means is for the webhook's own settings to say."""

from __future__ import annotations

from headwater.webhooks.expressions import parse
from headwater.webhooks.models import Document, Message, Settings
from headwater.webhooks.providers.provider import Provider
from headwater.webhooks.signatures import check_any_form
from headwater.webhooks.values import to_text

ANYTHING = "*"
"""The topic of every delivery, where the settings do not say what tells them apart."""
DEFAULT_HEADER = "x-signature"
DELIVERY_ID = "webhook-id"
"""The header that the Standard Webhooks convention has for a delivery's id."""


def _check(secret: bytes, message: Message, settings: Settings) -> None:
    check_any_form(secret, message, settings.signature_header or DEFAULT_HEADER)


def _topic(document: Document, settings: Settings) -> str | None:
    if settings.topic is None:
        return ANYTHING
    try:
        found = parse(settings.topic).find(document)
        topic = None if found is None else to_text(found)
    except ValueError:
        topic = None
    return topic if topic in settings.events or ANYTHING not in settings.events else ANYTHING


def _identity(document: Document, _: str) -> str | None:
    return document.headers.get(DELIVERY_ID)


GENERIC = Provider(
    type="generic",
    needs_secret=False,
    check=_check,
    topic=_topic,
    identity=_identity,
    events={},
    fields={},
    headers=frozenset({DELIVERY_ID}),
    refuses_unmappable=True,
)
