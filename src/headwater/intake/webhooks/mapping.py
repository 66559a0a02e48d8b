"""Map a delivery's body to an event payload. Pure.

A webhook's settings override the provider's expressions by topic. Invalid optional fields are left out and
reported, so that no purchase is lost; essential fields are required.
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
from headwater.http.errors import Errors, Invalid, list_rules
from headwater.http.json_decoder import encode_exact
from headwater.intake.ingest.forms import LONGEST_ADDRESS, Form
from headwater.intake.ingest.payload import COUNTER_FORM, RECORD_FORM, Check, TrackPayload
from headwater.intake.ingest.times import parse_event_time
from headwater.intake.webhooks.expressions import parse
from headwater.intake.webhooks.interpreter import StepBudget
from headwater.intake.webhooks.models import MappingInput, WebhookSettings
from headwater.intake.webhooks.money_back import LONGEST_ID
from headwater.intake.webhooks.values import to_number, to_text
from headwater.spaces.currencies import parse_currency
from headwater.spaces.custom_fields import DATE_SLOTS, NUMBER_SLOTS, slot_name

BUYER_OF_ORDER = "buyer_of_order"
"""A target: the order whose buyer the event is about, or which is refunded."""
REFERRER = "referrer"
"""A target: the page that led to the visit. With it, the url is the visit's landing page."""
TEST_ORDER, WITHOUT_VISIT = "test_order", "without_visit"
"""Targets: whether it is a test order, or without a visit."""

_COMPUTED = {"event_name"}
_INDISPENSABLE = {"event_name", "event_time", "amount", "order_id", "idempotency_key"}

VISIT_FIELDS = (
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
"""Fields that come from a visit."""


def _keep(value: Any) -> Any:
    if isinstance(value, str | int | Decimal):
        return value
    raise ValueError("must be text or a number.")


def _to_code(value: Any) -> str:
    """Refuse fractions: 42.0 isn't company 42."""
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    raise ValueError("must be text or a whole number.")


def _to_id(value: Any) -> str:
    """Refuse ids that cannot be stored. The form of an event does it too, but refunds have none."""
    text = to_text(value)
    if len(text) > LONGEST_ID or "\0" in text:
        raise ValueError(f"must be text of at most {LONGEST_ID} characters, without NUL.")
    return text


def _to_currency(value: Any) -> str | None:
    code = to_text(value)
    return parse_currency(code) if code.strip() else None


def _to_flag(value: Any) -> bool:
    flag = {"true": True, "false": False}.get(str(value).strip().lower())
    if flag is None:
        raise ValueError("must be true or false.")
    return flag


def _make_converters() -> dict[str, Callable[[Any], Any]]:
    names = [info.name for info in msgspec.structs.fields(TrackPayload)]
    targets = [*names, BUYER_OF_ORDER, REFERRER]
    converters: dict[str, Callable[[Any], Any]] = dict.fromkeys(targets, to_text)
    converters |= dict.fromkeys(("order_id", BUYER_OF_ORDER, "idempotency_key"), _to_id)
    converters["currency"] = _to_currency
    converters |= dict.fromkeys(("amount", *map(slot_name, NUMBER_SLOTS)), to_number)
    converters |= dict.fromkeys(("event_time", *map(slot_name, DATE_SLOTS)), _keep)
    flags = ("is_upsell", "do_not_capi", TEST_ORDER, WITHOUT_VISIT)
    converters |= dict.fromkeys(flags, _to_flag)
    converters |= dict.fromkeys(("company_external_id", "company_name"), _to_code)
    return {name: convert for name, convert in converters.items() if name not in _COMPUTED}


DESTINATIONS: Mapping[str, Callable[[Any], Any]] = _make_converters()
"""Functions that convert values, by target."""


@dataclass
class MappedPayload:
    payload: dict[str, Any]
    order: str | None = None
    """The order whose buyer it is about, or which is refunded."""
    referrer: str | None = None
    """None if the url is no landing page, empty if the visit came from no page."""
    is_test: bool | None = None
    """None: the type of webhook decides, likewise below."""
    is_without_visit: bool | None = None
    left_out: list[str] = field(default_factory=list[str])

    @property
    def buyer_order(self) -> str | None:
        """Set if the buyer must be looked up."""
        is_known = self.payload.keys() & {"email", "trk_token", "fingerprint"}
        return None if is_known or self.returns_money else self.order

    @property
    def returns_money(self) -> bool:
        amount = self.payload.get("amount")
        is_upsell = (
            self.payload.get("is_upsell", False) or self.payload.get("event_name") == "upsell_purchase"
        )
        names_order = self.order is not None or "order_id" in self.payload
        return amount is not None and amount < 0 and names_order and not is_upsell

    def without_visit(self) -> MappedPayload:
        """Drop fields of a visit, maybe copied from another order."""
        visit_fields = {*VISIT_FIELDS}
        if self.payload.keys() & {"email", "phone", "tracking_id"}:
            visit_fields.add("trk_token")
        payload = {name: value for name, value in self.payload.items() if name not in visit_fields}
        return replace(self, payload=payload, referrer=None, is_without_visit=True)


def find_expressions(
    topic: str, ready_made: Mapping[str, Mapping[str, str]], settings: WebhookSettings
) -> dict[str, str]:
    """Return expressions, by default the parent's: `order` for `order.completed`."""
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
    """Raise Invalid if an essential field is invalid."""
    check, budget = Check(), StepBudget()

    def find(name: str, text: str) -> Any:
        value = parse(text).find(document, budget)
        return None if value is None else DESTINATIONS[name](value)

    values = {name: check(find, name, name, text) for name, text in expressions.items()}
    if check.errors.keys() & _INDISPENSABLE:
        raise Invalid(check.errors)
    payload = {name: value for name, value in values.items() if value is not None}
    left_out = list_rules(check.errors)
    if "currency" in check.errors and payload.pop("amount", None) is not None:
        left_out.append("The amount would count in the Space's currency.")
    order = payload.pop(BUYER_OF_ORDER, None)
    referrer = payload.pop(REFERRER, "" if REFERRER in expressions else None)
    is_test, is_without_visit = payload.pop(TEST_ORDER, None), payload.pop(WITHOUT_VISIT, None)
    if ("fingerprint" in payload) != ("ip" in payload):
        payload.pop("fingerprint", None)
        payload.pop("ip", None)
    return MappedPayload(payload, order, referrer, is_test, is_without_visit, left_out)


def to_event(mapped: MappedPayload, default_key: str, current_time: float) -> AcceptedEvent:
    """Return the event; add errors of omitted fields to `mapped.left_out`. Raises Invalid."""
    payload = mapped.payload
    payload.setdefault("idempotency_key", default_key)
    try:
        event = _find_form(mapped).accept(encode_exact(payload), current_time)
    except Invalid as invalid:
        event = _accept_valid_fields(mapped, invalid, current_time)
    return (
        event if mapped.referrer is None else msgspec.structs.replace(event, referrer=_read_referrer(mapped))
    )


def _read_referrer(mapped: MappedPayload) -> str:
    """Return an empty text for an invalid referrer, which the form doesn't check, and report it."""
    referrer = mapped.referrer or ""
    if len(referrer) <= LONGEST_ADDRESS and "\0" not in referrer:
        return referrer
    mapped.left_out.append(f"The referrer must be at most {LONGEST_ADDRESS} characters, without NUL.")
    return ""


def _find_form(mapped: MappedPayload) -> Form[AcceptedEvent]:
    is_counter = mapped.is_without_visit and "order_id" in mapped.payload
    return COUNTER_FORM if is_counter else RECORD_FORM


def _accept_valid_fields(mapped: MappedPayload, invalid: Invalid, current_time: float) -> AcceptedEvent:
    """Omit invalid optional fields. Raises `invalid`."""
    errors: Errors = invalid.errors
    if not errors.keys() <= mapped.payload.keys() - _INDISPENSABLE:
        raise invalid
    valid = {name: value for name, value in mapped.payload.items() if name not in errors}
    try:
        event = _find_form(mapped).accept(encode_exact(valid), current_time)
    except Invalid:
        raise invalid from None
    mapped.left_out += list_rules(errors)
    return event


def make_key(kind: str, identity: str) -> str:
    """Hash the key if too long."""
    key = f"{kind}:{identity}"
    if len(key) <= LONGEST_ID and "\0" not in key:
        return key
    return f"{kind}:{hashlib.sha256(identity.encode()).hexdigest()}"


def to_refund(mapped: MappedPayload, default_key: str, current_time: float) -> AcceptedRefund:
    """Raise Invalid for bad input."""
    payload, check = mapped.payload, Check()
    refunded_at = check(parse_event_time, "event_time", payload.get("event_time"), current_time)
    amount = check(decimal_text, "amount", -payload["amount"], MAX_AMOUNT, AMOUNT_STEP)
    if check.errors:
        raise Invalid(check.errors)
    item = payload.get("idempotency_key", default_key)
    order_id = mapped.order or payload["order_id"]
    statement = MoneyBack(item=item, amount=amount, version=refunded_at)
    return AcceptedRefund(
        order_ids=(order_id,), at=refunded_at, currency=payload.get("currency"), statements=(statement,)
    )
