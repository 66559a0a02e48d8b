"""Mapping of a delivery's body to the payload that creates an event. Pure.

A provider has a table of expressions by topic; a webhook's own settings override it. The result is
validated like any other payload. A field of another service that cannot be stored (a telephone
number of 100 digits) is left out and reported, as a purchase must not be lost for it. Without the
fields that say who, what, when and how much there is no event.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import msgspec

from headwater.events.accepted import AcceptedEvent
from headwater.events.refunds.reports import AcceptedRefund, MoneyBack
from headwater.http.decimals import AMOUNT_STEP, MAX_AMOUNT, decimal_text
from headwater.http.errors import Errors, Invalid
from headwater.intake.ingest.forms import Form
from headwater.intake.ingest.payload import COUNTER_FORM, RECORD_FORM, Check, TrackPayload
from headwater.intake.ingest.times import parse_event_time
from headwater.intake.webhooks.expressions import parse
from headwater.intake.webhooks.interpreter import StepBudget
from headwater.intake.webhooks.models import MappingInput, WebhookSettings
from headwater.intake.webhooks.values import to_number, to_text
from headwater.spaces.currencies import parse_currency
from headwater.spaces.custom_fields import DATE_SLOTS, NUMBER_SLOTS, slot_name

BUYER_OF_ORDER = "buyer_of_order"
"""A target that is no field of an event: the order whose buyer the event is about, where no field
identifies one; of a negative amount, the order whose money came back.
"""
REFERRER = "referrer"
"""Another such target: the page that the visit came from."""
TEST_ORDER, WITHOUT_VISIT = "test_order", "without_visit"
"""Other such targets: whether it is a test, and whether nobody visited a page for it."""

_COMPUTED = {"event_name"}
_INDISPENSABLE = {"event_name", "event_time", "amount", "order_id", "idempotency_key"}
_LONGEST_KEY = 255

OF_A_VISIT = (
    "url",
    "user_agent",
    "ip",
    "fingerprint",
    "trk_source",
    "trk_network",
    "trk_campaign",
    "trk_ad_group",
    "trk_ad_id",
    "trk_keyword",
    "trk_type",
    "checkout_token",
)
"""What an order has only from the visit that it was made in."""

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
    targets = [*names, BUYER_OF_ORDER, REFERRER]
    converters: dict[str, Callable[[Any], Any]] = dict.fromkeys(targets, to_text)
    converters["currency"] = _to_currency
    converters |= dict.fromkeys(("amount", *map(slot_name, NUMBER_SLOTS)), to_number)
    converters |= dict.fromkeys(("event_time", *map(slot_name, DATE_SLOTS)), _as_it_is)
    flags = ("is_upsell", "do_not_capi", TEST_ORDER, WITHOUT_VISIT)
    converters |= dict.fromkeys(flags, _to_flag)
    converters |= dict.fromkeys(("company_external_id", "company_name"), _to_code)
    return {name: convert for name, convert in converters.items() if name not in _COMPUTED}


DESTINATIONS: Mapping[str, Callable[[Any], Any]] = _converters()
"""Targets of a mapping, each with the function that converts a value to its type."""


@dataclass
class MappedPayload:
    """A payload, and the reasons for leaving fields out of it."""

    payload: dict[str, Any]
    order: str | None = None
    """The order whose buyer it is about, or whose money came back."""
    referrer: str | None = None
    is_test: bool | None = None
    """None where no mapping says so: then the type of webhook decides, as for the next."""
    is_without_visit: bool | None = None
    left_out: list[str] = field(default_factory=list[str])

    @property
    def order_of_buyer(self) -> str | None:
        """The order whose buyer has to be looked up, as no field identifies one."""
        is_known = self.payload.keys() & {"email", "trk_token", "fingerprint"}
        return None if is_known or self.returns_money else self.order

    @property
    def returns_money(self) -> bool:
        """True for a negative amount of an order that is named."""
        amount = self.payload.get("amount")
        is_upsell = (
            self.payload.get("is_upsell", False) or self.payload.get("event_name") == "upsell_purchase"
        )
        names_order = self.order is not None or "order_id" in self.payload
        return amount is not None and amount < 0 and names_order and not is_upsell

    def without_visit(self) -> MappedPayload:
        """Return it without what tells of a visit: notes copied from another order."""
        gone = {*OF_A_VISIT}
        if self.payload.keys() & {"email", "phone", "tracking_id"}:
            gone.add("trk_token")
        kept = {name: value for name, value in self.payload.items() if name not in gone}
        return replace(self, payload=kept, referrer=None, is_without_visit=True)


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
    referrer = payload.pop(REFERRER, None)
    is_test, is_without_visit = payload.pop(TEST_ORDER, None), payload.pop(WITHOUT_VISIT, None)
    if ("fingerprint" in payload) != ("ip" in payload):
        payload.pop("fingerprint", None)
        payload.pop("ip", None)
    return MappedPayload(payload, order, referrer, is_test, is_without_visit, left_out)


def to_event(mapped: MappedPayload, default_key: str, now: float) -> AcceptedEvent:
    """Return the event of a payload; the reasons for fields left out go to `mapped.left_out`.

    `default_key` is the idempotency key unless one was mapped. Raises Invalid when the payload
    makes no event.
    """
    payload = mapped.payload
    payload.setdefault("idempotency_key", default_key)
    try:
        event = _form(mapped).accept(_encode(payload), now)
    except Invalid as invalid:
        event = _accept_the_rest(mapped, invalid, now)
    return msgspec.structs.replace(event, referrer=mapped.referrer) if mapped.referrer else event


def _form(mapped: MappedPayload) -> Form[AcceptedEvent]:
    is_counter = mapped.is_without_visit and "order_id" in mapped.payload
    return COUNTER_FORM if is_counter else RECORD_FORM


def _accept_the_rest(mapped: MappedPayload, invalid: Invalid, now: float) -> AcceptedEvent:
    """Return the event without the fields that cannot be stored. Raises `invalid` when the rest
    makes no event.
    """
    errors: Errors = invalid.errors
    if not errors.keys() <= mapped.payload.keys() - _INDISPENSABLE:
        raise invalid
    rest = {name: value for name, value in mapped.payload.items() if name not in errors}
    try:
        event = _form(mapped).accept(_encode(rest), now)
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


def to_refund(mapped: MappedPayload, default_key: str, now: float) -> AcceptedRefund:
    """Return the refund that a negative amount of an order is; `default_key` as for an event.
    Raises Invalid.
    """
    payload, check = mapped.payload, Check()
    at = check(parse_event_time, "event_time", payload.get("event_time"), now)
    amount = check(decimal_text, "amount", -payload["amount"], MAX_AMOUNT, AMOUNT_STEP)
    if check.errors:
        raise Invalid(check.errors)
    item = str(payload.get("idempotency_key", default_key))[:_LONGEST_KEY]
    order_id = str(mapped.order or payload["order_id"])[:_LONGEST_KEY]
    statement = MoneyBack(item=item, amount=amount, version=at)
    return AcceptedRefund(
        order_ids=(order_id,), at=at, currency=payload.get("currency"), statements=(statement,)
    )
