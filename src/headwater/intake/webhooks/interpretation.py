"""Decide the outcome of a delivery. Pure, in two halves, because a refunded order's buyer may be looked up in
between.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any, cast

import msgspec
from msgspec import Struct

from headwater.events.refunds.reports import AcceptedRefund
from headwater.http.errors import Errors, Invalid, join_rules
from headwater.http.json_decoder import NOT_AN_OBJECT, decode_json
from headwater.intake.ingest.forms import Check
from headwater.intake.webhooks.expressions import parse
from headwater.intake.webhooks.mapping import (
    DESTINATIONS,
    MappedPayload,
    find_expressions,
    make_key,
    map_fields,
    to_event,
    to_refund,
)
from headwater.intake.webhooks.models import (
    MappingInput,
    ReadContext,
    Status,
    UnverifiedRequest,
    WebhookOutcome,
    WebhookRequest,
    WebhookSettings,
)
from headwater.intake.webhooks.providers import PROVIDERS, Provider
from headwater.intake.webhooks.providers.generic import ANYTHING

UNSIGNED = "The webhook has no signing secret yet, so the sender cannot be verified."
NO_TOPIC = "It has no topic."
TEST = "test order, not counted."
MONEY_BACK = "refund of an order."
NOBODY = "The order, or its buyer, is not known."

_LONGEST_QUOTED = 80


class EventDraft(Struct, frozen=True):
    topic: str
    event_name: str | None
    """None for a pure refund."""
    mapped: MappedPayload
    key: str
    """The default idempotency key."""
    refund: AcceptedRefund | None = None


def check_signature(reader: ReadContext, secret: bytes | None, message: WebhookRequest) -> WebhookRequest:
    """Return the signed part. Raises UnverifiedRequest."""
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
    provider = PROVIDERS[reader.type]
    purpose = provider.not_json(message)
    if purpose is not None:
        return WebhookOutcome(Status.IGNORED, purpose)
    try:
        document = MappingInput(_read_body(message.body), message.headers)
    except Invalid as invalid:
        return make_refusal(invalid.errors)
    topic = provider.topic(document, reader.settings)
    if topic is None:
        return WebhookOutcome(Status.IGNORED, NO_TOPIC)
    try:
        draft = _make_draft(reader, document, topic, message)
    except Invalid as invalid:
        return make_refusal(invalid.errors, f"{_quote(topic)}: ")
    if draft is None:
        return WebhookOutcome(Status.IGNORED, _explain_ignored(provider, topic))
    return _ignore_tests(reader, document, draft)


def _ignore_tests(
    reader: ReadContext, document: MappingInput, draft: EventDraft
) -> EventDraft | WebhookOutcome:
    is_test = draft.mapped.is_test
    if is_test is None:
        is_test = PROVIDERS[reader.type].is_test(document)
    if is_test and not reader.settings.takes_tests:
        return WebhookOutcome(Status.IGNORED, f"{_quote(draft.topic)}: {TEST}", is_test=True)
    return draft


def _make_draft(
    reader: ReadContext, document: MappingInput, topic: str, message: WebhookRequest
) -> EventDraft | None:
    """Return the topic's draft; None for an ignored topic. Raises Invalid."""
    provider = PROVIDERS[reader.type]
    event_name = (dict(provider.events) | reader.settings.events).get(topic)
    if event_name == "":
        return None
    refund = _find_refund(reader, document, topic, message.received_at)
    if event_name is None and refund is None:
        return None
    expressions = find_expressions(topic, provider.fields, reader.settings)
    mapped_payload = map_fields(document, expressions) if event_name else MappedPayload({})
    is_without_visit = mapped_payload.is_without_visit
    if is_without_visit is None:
        is_without_visit = provider.has_no_visitor(document)
    if is_without_visit:
        mapped_payload = mapped_payload.without_visit()
    identity = provider.identity(document, topic) or hashlib.sha256(message.body).hexdigest()
    return EventDraft(topic, event_name, mapped_payload, make_key(reader.type, identity), refund)


def _find_refund(
    reader: ReadContext, document: MappingInput, topic: str, current_time: float
) -> AcceptedRefund | None:
    """Apply a mapping of order_id, too. Raises Invalid."""
    check = Check()
    money_back = PROVIDERS[reader.type].money_back
    refund: AcceptedRefund | None = check(money_back, "amount", document, topic, current_time)
    order_id = refund and check(_find_order_id, "order_id", document, topic, reader.settings)
    if check.errors:
        raise Invalid(check.errors)
    if refund is None or order_id is None:
        return refund
    return msgspec.structs.replace(refund, order_ids=(order_id,))


def _find_order_id(document: MappingInput, topic: str, settings: WebhookSettings) -> str | None:
    """Raise ValueError with a rule."""
    expression = find_expressions(topic, {}, settings).get("order_id")
    order_id = parse(expression).find(document) if expression else None
    return None if order_id is None else DESTINATIONS["order_id"](order_id)


def _explain_ignored(provider: Provider, topic: str) -> str:
    base = topic if topic in provider.money_topics else topic.rpartition(".")[0]
    if base in provider.money_topics:
        return f"{_quote(topic)}: no refund."
    return f"{_quote(topic)} is ignored."


def finish(draft: EventDraft, buyer: dict[str, str], current_time: float) -> WebhookOutcome:
    """Return the outcome. `buyer` identifies the order's contact if the draft doesn't; empty if unknown."""
    if draft.event_name is None:
        detail = f"{_quote(draft.topic)}: {MONEY_BACK}"
        return WebhookOutcome(Status.ACCEPTED, detail, refund=draft.refund)
    payload = {**draft.mapped.payload, **buyer, "event_name": draft.event_name}
    mapped_payload = replace(draft.mapped, payload=payload, left_out=[*draft.mapped.left_out])
    if mapped_payload.buyer_order is not None:
        return make_refusal({"buyer_of_order": [NOBODY]}, f"{_quote(draft.topic)}: ")
    try:
        if mapped_payload.returns_money:
            refund = to_refund(mapped_payload, draft.key, current_time)
            detail = f"{_quote(draft.topic)}: {MONEY_BACK}"
            return WebhookOutcome(Status.ACCEPTED, detail, refund=refund)
        event = to_event(mapped_payload, draft.key, current_time)
    except Invalid as invalid:
        return make_refusal(invalid.errors, f"{_quote(draft.topic)}: ")
    detail = f"{_quote(draft.topic)} became {draft.event_name}."
    if mapped_payload.left_out:
        detail += f" Left out: {' '.join(mapped_payload.left_out)}"
    return WebhookOutcome(Status.ACCEPTED, detail, event, draft.refund)


def preview_outcome(reader: ReadContext, message: WebhookRequest) -> WebhookOutcome:
    """Omit lookups, assuming a buyer where needed."""
    draft = draft_event(reader, message)
    if isinstance(draft, WebhookOutcome):
        return draft
    buyer = {} if draft.mapped.buyer_order is None else {"email": "the-buyer@example.com"}
    return finish(draft, buyer, message.received_at)


def make_refusal(errors: Errors, prefix: str = "") -> WebhookOutcome:
    return WebhookOutcome(Status.REFUSED, prefix + join_rules(errors), errors=errors)


def list_needed_headers(reader: ReadContext) -> frozenset[str]:
    """Return headers to store, because reading needs them."""
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


def _quote(topic: str) -> str:
    if topic == ANYTHING:
        return "The body"
    printable = "".join(letter if letter.isprintable() else "?" for letter in topic)
    return printable if len(printable) <= _LONGEST_QUOTED else printable[:_LONGEST_QUOTED] + "…"
