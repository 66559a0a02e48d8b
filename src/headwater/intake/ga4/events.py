"""Translate the events of GA4's Measurement Protocol. Pure."""

from __future__ import annotations

from decimal import Decimal
from hashlib import sha256
from typing import Any, cast
from uuid import uuid4

from headwater.http.decimals import AMOUNT_STEP, MAX_AMOUNT, decimal_text
from headwater.http.errors import Invalid
from headwater.intake.ga4.requests import Ga4Event, Ga4Person, read_event, read_micros
from headwater.intake.inbox.accepted_rows import NewRow
from headwater.intake.protocols.calls import ProtocolCall, read_identifiers
from headwater.intake.protocols.event_names import normalize
from headwater.intake.protocols.translation import Translator
from headwater.intake.protocols.values import Members, read_text, require_members
from headwater.intake.webhooks.values import to_number

PURCHASE = "purchase"
REFUND = "refund"
PAGE_VIEW = "page_view"

_PARAMS = {
    "transaction_id": "order_id",
    "value": "value",
    "currency": "currency",
    "page_location": "url",
    "page_referrer": "referrer",
}
_CAMPAIGN = {"campaign": "name", **{name: name for name in ("source", "medium", "term", "content")}}
_FIELDS = {word: f"params.{param}" for param, word in _PARAMS.items()} | {"amount": "params.value"}


class Ga4Events:
    """The events of one request."""

    def __init__(self, translator: Translator, person: Ga4Person) -> None:
        self._translator, self._person = translator, person

    def translate(self, raw: bytes) -> list[NewRow]:
        """Raise Invalid with the event's wrong members, or IgnoredMessage."""
        event = read_event(raw)
        written_name = read_text(event.name)
        if written_name is None:
            raise Invalid.of("name", "is required, text of at most 255 characters.")
        name = normalize(written_name)
        if self._translator.is_bot:
            self._translator.bot_pages += name == PAGE_VIEW
            return []
        call = self._read_call(event, written_name, raw)
        try:
            if name == PAGE_VIEW:
                return self._translator.page(call)
            return self._translator.refund(call) if name == REFUND else self._translator.track(call)
        except Invalid as problem:
            raise _name_params(problem) from None

    def _read_call(self, event: Ga4Event, written: str, raw: bytes) -> ProtocolCall:
        person, params = self._person, require_members(event.params, "params")
        own_micros = read_micros(event.timestamp_micros)
        micros = person.micros if own_micros is None else own_micros
        properties = {word: params[param] for param, word in _PARAMS.items() if param in params}
        name = normalize(written)
        if name in (PURCHASE, REFUND) and properties.get("value") is None:
            properties["value"] = _add_items(params, is_required=name == REFUND)
        context = person.context
        if campaign := {word: params[param] for param, word in _CAMPAIGN.items() if param in params}:
            context = {**context, "campaign": campaign}
        return ProtocolCall(
            written,
            read_text(params.get("event_id")) or self._identify(raw, micros, is_refund=name == REFUND),
            self._translator.bound_time(None if micros is None else micros // 1000),
            read_identifiers(person.client_id, person.user_id, person.traits, {}),
            context,
            properties,
            person.traits,
            person.consent,
        )

    def _identify(self, raw: bytes, micros: int | None, *, is_refund: bool) -> str:
        """Return an id that is equal if the event is sent again. Without a time, only refunds have one: a
        repeated refund would return money twice.
        """
        if micros is None and not is_refund:
            return str(uuid4())
        person = self._person
        parts = [person.client_id, person.user_id, None if micros is None else str(micros)]
        digest = sha256(raw)
        for part in parts:
            digest.update(b"\0" + (part or "").encode())
        return digest.hexdigest()[:32]


def _add_items(params: Members, *, is_required: bool) -> str | None:
    """Return the sum of the items' prices; None without items. Raise Invalid for items without a price, if
    the sum is required.
    """
    value = params.get("items")
    items = cast("list[Any]", value) if isinstance(value, list) else []
    try:
        total = sum((_read_price(item) for item in items), Decimal(0))
        return decimal_text(total, MAX_AMOUNT, AMOUNT_STEP) if items else None
    except ValueError:
        if is_required:
            rule = "is required when items are given, unless each item has a price."
            raise Invalid.of("params.value", rule) from None
        return None


def _read_price(item: Any) -> Decimal:
    """Raise ValueError without a price."""
    members = cast("Members", item) if isinstance(item, dict) else {}
    quantity = members.get("quantity")
    return to_number(members.get("price")) * (1 if quantity is None else to_number(quantity))


def _name_params(problem: Invalid) -> Invalid:
    """Return the error with the protocol's names of its fields."""
    errors: dict[str, list[str]] = {}
    for field, rules in problem.errors.items():
        name = _FIELDS.get(field, field)
        errors[name] = [rule.replace(f"The {field} ", f"The {name} ", 1) for rule in rules]
    return Invalid(errors)
