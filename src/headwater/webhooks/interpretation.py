"""The outcome of a delivery: is its signature right, does its topic matter, is it an event? Pure,
in two halves, as between them the buyer of a refunded order may have to be looked up.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, cast

from headwater.http.errors import Errors, Invalid
from headwater.http.json_decoder import NOT_AN_OBJECT, decode_json
from headwater.webhooks.expressions import parse
from headwater.webhooks.mapping import MappedPayload, expressions_for, key_of, map_fields, to_event
from headwater.webhooks.models import (
    MappingInput,
    ReadContext,
    Status,
    UnverifiedRequest,
    WebhookOutcome,
    WebhookRequest,
)
from headwater.webhooks.providers import PROVIDERS
from headwater.webhooks.providers.generic import ANYTHING

UNSIGNED = "The webhook has no signing secret yet, so nothing proves who sent this."
NO_TOPIC = "Nothing says what it reports."
NOBODY = "The order it belongs to is not known, or its buyer is not."

_LONGEST_QUOTED = 80


@dataclass(frozen=True)
class EventDraft:
    """A delivery that is to become an event."""

    topic: str
    event_name: str
    mapped: MappedPayload
    key: str
    """The idempotency key, unless one was mapped."""


def check_signature(
    reader: ReadContext, secret: bytes | None, message: WebhookRequest
) -> WebhookRequest:
    """Return the part of a message that its signature covers, or all of it where the webhook asks
    for no signature. Raises UnverifiedRequest when the signature is missing or wrong.
    """
    provider = PROVIDERS[reader.type]
    if provider.not_json(message) is not None:
        return message
    if secret is None:
        if provider.needs_secret:
            raise UnverifiedRequest(UNSIGNED)
        return message
    provider.check(secret, message, reader.settings)
    return provider.believed(message, reader.settings)


def draft_event(reader: ReadContext, message: WebhookRequest) -> EventDraft | WebhookOutcome:
    """Return the draft of the event that a message describes, or the outcome when it is none."""
    provider = PROVIDERS[reader.type]
    purpose = provider.not_json(message)
    if purpose is not None:
        return WebhookOutcome(Status.IGNORED, purpose)
    try:
        document = MappingInput(_read_body(message.body), message.headers)
    except Invalid as invalid:
        return refused(invalid.errors)
    topic = provider.topic(document, reader.settings)
    if topic is None:
        return WebhookOutcome(Status.IGNORED, NO_TOPIC)
    event_name = (dict(provider.events) | reader.settings.events).get(topic)
    if not event_name:
        return WebhookOutcome(Status.IGNORED, f"Nothing is made of {_quoted(topic)}.")
    expressions = expressions_for(topic, provider.fields, reader.settings)
    try:
        mapped = map_fields(document, expressions)
    except Invalid as invalid:
        return refused(invalid.errors, f"{_quoted(topic)}: ")
    identity = provider.identity(document, topic) or hashlib.sha256(message.body).hexdigest()
    return EventDraft(topic, event_name, mapped, key_of(reader.type, identity))


def finish(draft: EventDraft, buyer: dict[str, str], now: float) -> WebhookOutcome:
    """Return the outcome of a draft. `buyer` holds the identifier of the contact who placed the
    order, where the draft names an order and no contact; it is empty when that is not known.
    """
    payload = {**draft.mapped.payload, **buyer, "event_name": draft.event_name}
    mapped = replace(draft.mapped, payload=payload, left_out=[*draft.mapped.left_out])
    if mapped.order is not None and not buyer:
        return refused({"buyer_of_order": [NOBODY]}, f"{_quoted(draft.topic)}: ")
    try:
        event = to_event(mapped, draft.key, now)
    except Invalid as invalid:
        return refused(invalid.errors, f"{_quoted(draft.topic)}: ")
    detail = f"{_quoted(draft.topic)} became {draft.event_name}."
    if mapped.left_out:
        detail += f" Left out: {' '.join(mapped.left_out)}"
    return WebhookOutcome(Status.ACCEPTED, detail, event)


def preview_outcome(reader: ReadContext, message: WebhookRequest) -> WebhookOutcome:
    """Return the outcome that a message would have, without looking anything up: an order whose
    buyer is needed has one.
    """
    draft = draft_event(reader, message)
    if isinstance(draft, WebhookOutcome):
        return draft
    buyer = {} if draft.mapped.order is None else {"email": "the-buyer@example.com"}
    return finish(draft, buyer, message.received_at)


def refused(errors: Errors, prefix: str = "") -> WebhookOutcome:
    """Return the outcome of a body with these errors."""
    message = " ".join(rule for rules in errors.values() for rule in rules)
    return WebhookOutcome(Status.REFUSED, prefix + message, errors=errors)


def headers_kept(reader: ReadContext) -> frozenset[str]:
    """Return the headers that are kept with a delivery: those that reading it depends on."""
    names = {"content-type", "user-agent", *PROVIDERS[reader.type].headers}
    expressions = [*reader.settings.mapping.values(), reader.settings.topic or ""]
    for text in filter(None, expressions):
        names |= parse(text).headers()
    return frozenset(names)


def _read_body(body: bytes) -> Any:
    value = decode_json(body)
    if isinstance(value, dict | list):
        return cast("Any", value)
    raise Invalid(NOT_AN_OBJECT)


def _quoted(topic: str) -> str:
    """Return a topic as a sentence can quote it."""
    if topic == ANYTHING:
        return "The body"
    printable = "".join(letter if letter.isprintable() else "?" for letter in topic)
    return printable if len(printable) <= _LONGEST_QUOTED else printable[:_LONGEST_QUOTED] + "…"
