"""Mapping of a delivery's body to the payload that creates an event. Pure.

A provider has a table of expressions by topic; a webhook's own settings override it. The result is
validated like any other payload. A field of another service that cannot be stored (a telephone
number of 100 digits) is left out and reported, as a purchase must not be lost for it. Without the
fields that say who, what, when and how much there is no event.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec

from headwater.events.accepted import AcceptedEvent
from headwater.http.errors import Errors, Invalid
from headwater.ingest.payload import Check, TrackPayload, accept
from headwater.spaces.currencies import parse_currency
from headwater.spaces.custom_fields import DATE_SLOTS, NUMBER_SLOTS, slot_name
from headwater.webhooks.expressions import parse
from headwater.webhooks.interpreter import StepBudget
from headwater.webhooks.models import MappingInput, WebhookSettings
from headwater.webhooks.values import to_number, to_text

BUYER_OF_ORDER = "buyer_of_order"
"""A target that is no field of an event: the order whose buyer the event is about, where no field
identifies one.
"""

_COMPUTED = {"event_name"}
_INDISPENSABLE = {"event_name", "event_time", "amount", "order_id", "idempotency_key"}
_LONGEST_KEY = 255

_encode = msgspec.json.Encoder(decimal_format="number").encode


def _as_it_is(value: Any) -> Any:
    if isinstance(value, str | int | Decimal):
        return value
    raise ValueError("must be text or a number.")


def _to_code(value: Any) -> str:
    """Return the id or name of a company as text. As for events sent to the API, a fraction is
    neither, and 42.0 would not be the company 42.
    """
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    raise ValueError("must be text or a whole number.")


def _to_currency(value: Any) -> str | None:
    code = to_text(value)
    return parse_currency(code) if code.strip() else None


def _to_flag(value: Any) -> bool:
    flag = {"true": True, "false": False}.get(str(value).strip().lower())
    if flag is None:
        raise ValueError("must be true or false.")
    return flag


def _converters() -> dict[str, Callable[[Any], Any]]:
    """Return, for each target, the function that converts a value to its type."""
    names = [info.name for info in msgspec.structs.fields(TrackPayload)]
    converters: dict[str, Callable[[Any], Any]] = dict.fromkeys([*names, BUYER_OF_ORDER], to_text)
    converters["currency"] = _to_currency
    converters |= dict.fromkeys(("amount", *map(slot_name, NUMBER_SLOTS)), to_number)
    converters |= dict.fromkeys(("event_time", *map(slot_name, DATE_SLOTS)), _as_it_is)
    converters |= dict.fromkeys(("is_upsell", "do_not_capi"), _to_flag)
    converters |= dict.fromkeys(("company_external_id", "company_name"), _to_code)
    return {name: convert for name, convert in converters.items() if name not in _COMPUTED}


DESTINATIONS: Mapping[str, Callable[[Any], Any]] = _converters()
"""Targets of a mapping, each with the function that converts a value to its type."""


@dataclass
class MappedPayload:
    """A payload, and the reasons for leaving fields out of it."""

    payload: dict[str, Any]
    order: str | None
    """The order whose buyer it is about, where no field identifies one."""
    left_out: list[str] = field(default_factory=list[str])


def expressions_for(
    topic: str, ready_made: Mapping[str, Mapping[str, str]], settings: WebhookSettings
) -> dict[str, str]:
    """Return the expressions of a topic, by field. A topic without a table of its own has the table
    of the topic that it is a case of: `order.completed` has that of `order`.
    """
    base = topic
    while base not in ready_made and "." in base:
        base = base.rpartition(".")[0]
    expressions = dict(ready_made.get(base, {}))
    general = {name: text for name, text in settings.mapping.items() if "@" not in name}
    special = {
        name.partition("@")[0]: text
        for name, text in settings.mapping.items()
        if name.partition("@")[2] == topic
    }
    expressions |= general | special
    return {name: text for name, text in expressions.items() if text}


def map_fields(document: MappingInput, expressions: Mapping[str, str]) -> MappedPayload:
    """Return the fields that the document has values for. Raises Invalid when an indispensable
    field has a value that does not fit.
    """
    check, budget = Check(), StepBudget()

    def find(name: str, text: str) -> Any:
        value = parse(text).find(document, budget)
        return None if value is None else DESTINATIONS[name](value)

    values = {name: check(find, name, name, text) for name, text in expressions.items()}
    if check.errors.keys() & _INDISPENSABLE:
        raise Invalid(check.errors)
    payload = {name: value for name, value in values.items() if value is not None}
    left_out = [rule for rules in check.errors.values() for rule in rules]
    if "currency" in check.errors and payload.pop("amount", None) is not None:
        left_out.append("The amount would count in the Space's currency.")
    order = payload.pop(BUYER_OF_ORDER, None)
    if ("fingerprint" in payload) != ("ip" in payload):
        payload.pop("fingerprint", None)
        payload.pop("ip", None)
    if payload.keys() & {"email", "trk_token", "fingerprint"}:
        order = None
    return MappedPayload(payload, order, left_out)


def to_event(mapped: MappedPayload, default_key: str, now: float) -> AcceptedEvent:
    """Return the event of a payload; the reasons for fields left out go to `mapped.left_out`.

    `default_key` is the idempotency key unless one was mapped. Raises Invalid when the payload
    makes no event.
    """
    payload = mapped.payload
    payload.setdefault("idempotency_key", default_key)
    try:
        return accept(_encode(payload), now)
    except Invalid as invalid:
        return _accept_the_rest(mapped, invalid, now)


def _accept_the_rest(mapped: MappedPayload, invalid: Invalid, now: float) -> AcceptedEvent:
    """Return the event without the fields that cannot be stored. Raises `invalid` when the rest
    makes no event.
    """
    errors: Errors = invalid.errors
    if not errors.keys() <= mapped.payload.keys() - _INDISPENSABLE:
        raise invalid
    rest = {name: value for name, value in mapped.payload.items() if name not in errors}
    try:
        event = accept(_encode(rest), now)
    except Invalid:
        raise invalid from None
    mapped.left_out += [rule for rules in errors.values() for rule in rules]
    return event


def key_of(kind: str, identity: str) -> str:
    """Return the idempotency key made of a type and the sender's own id, however long that is."""
    key = f"{kind}:{identity}"
    if len(key) <= _LONGEST_KEY and "\0" not in key:
        return key
    return f"{kind}:{hashlib.sha256(identity.encode()).hexdigest()}"
