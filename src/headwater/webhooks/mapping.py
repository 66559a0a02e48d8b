"""From a delivery's body to the payload that creates an event. Pure.

What a provider's type maps is a table of expressions by topic; a webhook's own settings go over
it. The result is judged like any other payload. Of what another service sends, a field that
cannot be kept (a telephone number of 100 digits) is left out and told of, as a purchase is not to
be lost for it; without what says who, what, when and how much there is no event.
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
from headwater.spaces.custom_fields import DATE_SLOTS, NUMBER_SLOTS, slot_name
from headwater.webhooks.expressions import parse
from headwater.webhooks.interpreter import StepBudget
from headwater.webhooks.models import MappingInput, WebhookSettings
from headwater.webhooks.values import to_number, to_text

CURRENCY = "currency"
"""A destination that is no field of an event: what the amount is in."""
BUYER_OF_ORDER = "buyer_of_order"
"""Another: the order whose buyer it is about, for when nothing else tells who it is about."""

_COMPUTED = {"event_name"}
_INDISPENSABLE = {"event_name", "event_time", "amount", "order_id", "idempotency_key"}
_LONGEST_KEY = 255

_encode = msgspec.json.Encoder(decimal_format="number").encode


def _as_it_is(value: Any) -> Any:
    if isinstance(value, str | int | Decimal):
        return value
    raise ValueError("must be text or a number.")


def _to_code(value: Any) -> str:
    """The id or name of a company: as for events sent to the API, a fraction is neither, and 42.0
    would not be the company 42.
    """
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    raise ValueError("must be text or a whole number.")


def _to_flag(value: Any) -> bool:
    flag = {"true": True, "false": False}.get(str(value).strip().lower())
    if flag is None:
        raise ValueError("must be true or false.")
    return flag


def _converters() -> dict[str, Callable[[Any], Any]]:
    """How a found value becomes what each destination takes."""
    names = [info.name for info in msgspec.structs.fields(TrackPayload)]
    found = dict.fromkeys([*names, CURRENCY, BUYER_OF_ORDER], to_text)
    found |= dict.fromkeys(("amount", *map(slot_name, NUMBER_SLOTS)), to_number)
    found |= dict.fromkeys(("event_time", *map(slot_name, DATE_SLOTS)), _as_it_is)
    found |= dict.fromkeys(("is_upsell", "do_not_capi"), _to_flag)
    found |= dict.fromkeys(("company_external_id", "company_name"), _to_code)
    return {name: convert for name, convert in found.items() if name not in _COMPUTED}


DESTINATIONS: Mapping[str, Callable[[Any], Any]] = _converters()
"""What can be mapped to."""


@dataclass
class MappedPayload:
    """A payload, and what was left out of it."""

    payload: dict[str, Any]
    order: str | None
    """The order whose buyer it is about, if nothing else tells."""
    left_out: list[str] = field(default_factory=list[str])


def expressions_for(
    topic: str, ready_made: Mapping[str, Mapping[str, str]], settings: WebhookSettings
) -> dict[str, str]:
    """Field to expression for a topic. A topic that has no table of its own has that of the one
    it is a case of: `order.completed` that of `order`.
    """
    base = topic
    while base not in ready_made and "." in base:
        base = base.rpartition(".")[0]
    found = dict(ready_made.get(base, {}))
    general = {name: text for name, text in settings.mapping.items() if "@" not in name}
    special = {
        name.partition("@")[0]: text
        for name, text in settings.mapping.items()
        if name.partition("@")[2] == topic
    }
    found |= general | special
    return {name: text for name, text in found.items() if text}


def map_fields(document: MappingInput, expressions: Mapping[str, str]) -> MappedPayload:
    """The fields that the document has something for. Raises Invalid for indispensable ones that
    do not fit.
    """
    check, budget = Check(), StepBudget()

    def find(name: str, text: str) -> Any:
        value = parse(text).find(document, budget)
        return None if value is None else DESTINATIONS[name](value)

    found = {name: check(find, name, name, text) for name, text in expressions.items()}
    if check.errors.keys() & _INDISPENSABLE:
        raise Invalid(check.errors)
    payload = {name: value for name, value in found.items() if value is not None}
    order = payload.pop(BUYER_OF_ORDER, None)
    if ("fingerprint" in payload) != ("ip" in payload):
        payload.pop("fingerprint", None)
        payload.pop("ip", None)
    if payload.keys() & {"email", "trk_token", "fingerprint"}:
        order = None
    return MappedPayload(
        payload, order, [told for errors in check.errors.values() for told in errors]
    )


def to_event(mapped: MappedPayload, default_key: str, currency: str, now: float) -> AcceptedEvent:
    """The event of a payload; what had to be left out is added to `mapped.left_out`.

    `default_key` is the idempotency key unless one was mapped, `currency` the Space's. Raises
    Invalid when it is none.
    """
    payload = mapped.payload
    payload.setdefault("idempotency_key", default_key)
    given = payload.pop(CURRENCY, currency).strip().upper()
    if given != currency and payload.pop("amount", None) is not None:
        mapped.left_out.append(f"The amount is in {_code(given)}, the Space's currency {currency}.")
    try:
        return accept(_encode(payload), now)
    except Invalid as invalid:
        return _accept_the_rest(mapped, invalid, now)


def _accept_the_rest(mapped: MappedPayload, invalid: Invalid, now: float) -> AcceptedEvent:
    """The event without the fields that cannot be kept, or else `invalid`."""
    errors: Errors = invalid.errors
    if not errors.keys() <= mapped.payload.keys() - _INDISPENSABLE:
        raise invalid
    rest = {name: value for name, value in mapped.payload.items() if name not in errors}
    try:
        event = accept(_encode(rest), now)
    except Invalid:
        raise invalid from None
    mapped.left_out += [told for each in errors.values() for told in each]
    return event


def key_of(kind: str, identity: str) -> str:
    """An idempotency key made of a type and the sender's own id, however long that is."""
    key = f"{kind}:{identity}"
    if len(key) <= _LONGEST_KEY and "\0" not in key:
        return key
    return f"{kind}:{hashlib.sha256(identity.encode()).hexdigest()}"


def _code(text: str) -> str:
    """A currency as a sentence can quote it: anything else may be somebody's name."""
    return text if len(text) == 3 and text.isascii() and text.isalpha() else "another currency"
