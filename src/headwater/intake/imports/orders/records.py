"""Past orders: a row becomes the purchase, and the refund, that the shop's webhook would have become. Pure
except for `store`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec
from psycopg import AsyncConnection

from headwater.events.accepted import ORDER_NAME, AcceptedEvent
from headwater.events.refunds.reports import AcceptedRefund, MoneyBack
from headwater.events.refunds.store import fetch_voided_orders
from headwater.events.touchpoints.classification import read_event_touch
from headwater.http.decimals import AMOUNT_STEP, MAX_AMOUNT, decimal_text
from headwater.http.errors import Errors, Invalid
from headwater.http.inputs.fields import is_blank
from headwater.intake.imports.formats import totals
from headwater.intake.imports.formats.columns import Columns
from headwater.intake.imports.orders.layouts import REQUIRED
from headwater.intake.imports.orders.statuses import (
    IS_CANCELLED,
    has_no_visitor,
    is_cancelled,
    read_status,
    refuse_uncounted,
)
from headwater.intake.imports.spend import read_id
from headwater.intake.inbox.accepted_rows import NewRow, append
from headwater.intake.ingest.times import parse_event_time
from headwater.intake.webhooks.mapping import MappedPayload, make_key, to_event
from headwater.intake.webhooks.money_back import moment
from headwater.intake.webhooks.values import to_number
from headwater.people.identity.senders import Sender
from headwater.sources.evidence import UNDECLARED
from headwater.sources.resolve import resolve
from headwater.sources.space_rules import SourceRules
from headwater.spaces.models import Space

_COPIED = (
    "order_id",
    "order_name",
    "event_time",
    "amount",
    "currency",
    "email",
    "phone",
    "full_name",
    "first_name",
    "last_name",
    "company_name",
    "url",
    "trk_source",
    "trk_type",
    "trk_campaign",
    "trk_keyword",
    "trk_token",
    "heard_about_us",
)
_NOTES: Mapping[str, str] = {
    **{
        name: name
        for name in (
            "trk_token",
            "trk_source",
            "trk_network",
            "trk_type",
            "trk_campaign",
            "trk_ad_group",
            "trk_ad_id",
            "trk_keyword",
            "company_external_id",
            "company_name",
            "heard_about_us",
        )
    },
    "utm_source": "trk_source",
    "utm_medium": "trk_type",
    "utm_campaign": "trk_campaign",
    "utm_term": "trk_keyword",
    "landing_site": "url",
    "landing_page": "url",
    "referring_site": "referrer",
    "referrer": "referrer",
}
"""Attributes of an order, by the field that they fill."""
_SHOP_TAGS = ("utm_source", "utm_medium", "utm_campaign", "utm_term")
_MOST_NOTES = 100
_REFUND_ITEM = re.compile(r"(?:^|;)amount:([0-9.]{1,40})\|")
_REFUND_DATE = re.compile(r"\|date:([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{5,8})(?:;|$)")
"""Refunds as `amount:5.00|reason:…|date:2026-01-31 10:00:00`, in UTC."""

CANCELLED_ORDER: Errors = {"status": [IS_CANCELLED]}
_encode = msgspec.json.Encoder().encode


class PastOrder(msgspec.Struct, frozen=True):
    event: AcceptedEvent
    refund: AcceptedRefund | None = None
    is_cancelled: bool = False
    """It doesn't count. If it counted before, the refund takes the rest back."""


def make_total_test(columns: Columns) -> totals.RowTest:
    """Recognize totals, and further rows of an order: they repeat the order's number, or have neither number
    nor amount.
    """
    by_field = {name: column for column, name in columns.mapped}
    id_column = by_field.get("order_id", "order_id")
    amount_column = by_field.get("amount", "amount")
    is_total = totals.make_total_test(columns)
    previous = ""

    def is_further_row(values: Mapping[str, Any]) -> bool:
        nonlocal previous
        order_id = str(values.get(id_column) or "").strip()
        if not order_id:
            return is_blank(values.get(amount_column)) or is_total(values)
        is_repeated, previous = order_id == previous, order_id
        return is_repeated or is_total(values)

    return is_further_row


def read(values: dict[str, Any], current_time: float) -> PastOrder:
    """Raise Invalid with the reason for a bad order or one that doesn't count."""
    missing_names = [name for name in REQUIRED if is_blank(values.get(name))]
    if missing_names:
        raise Invalid.of_rules(dict.fromkeys(missing_names, "must be present."))
    refuse_uncounted(values)
    payload = _make_payload(values)
    referrer = payload.pop("referrer", None) or _find_text(values, "referrer") or ""
    mapped_payload = MappedPayload(payload, referrer=referrer)
    if has_no_visitor(values):
        mapped_payload = mapped_payload.without_visit()
    event = to_event(mapped_payload, make_key("order", payload["order_id"]), current_time)
    if mapped_payload.left_out:
        event = msgspec.structs.replace(event, warnings=(*event.warnings, *mapped_payload.left_out))
    if is_cancelled(values):
        return PastOrder(event, _make_void(values, event, current_time), is_cancelled=True)
    return PastOrder(event, _read_refund(values, event, current_time))


def _find_text(values: Mapping[str, Any], name: str) -> str | None:
    text = values.get(name)
    return text if isinstance(text, str) and text.strip() else None


def _make_payload(values: Mapping[str, Any]) -> dict[str, Any]:
    """Raise Invalid for an abbreviated order_id."""
    payload = {name: values[name] for name in _COPIED if not is_blank(values.get(name))}
    payload |= {"event_name": ORDER_NAME, "do_not_capi": True}
    payload["order_id"] = read_id("order_id", str(values["order_id"]).strip())
    payload |= _read_notes(values.get("note_attributes"))
    _, rule = resolve(UNDECLARED, _find_text(payload, "url"))
    if rule == "fallback":  # shops know fewer click ids than the landing page may have
        shop_tags = {_NOTES[name]: values[name] for name in _SHOP_TAGS if not is_blank(values.get(name))}
        payload = shop_tags | payload
    if isinstance(payload.get("phone"), str):
        payload["phone"] = payload["phone"].removeprefix("'")  # keeps spreadsheets from calculating
    return payload


def _read_notes(text: object) -> dict[str, str]:
    """Return known attributes from lines of `name: value`; the last of repeated ones counts."""
    if not isinstance(text, str):
        return {}
    pairs = (line.partition(":") for line in text.splitlines()[:_MOST_NOTES])
    notes = ((name.strip().casefold().replace(" ", "_"), value.strip()) for name, _, value in pairs)
    return {_NOTES[name]: value for name, value in notes if name in _NOTES and value}


def _read_refund(
    values: Mapping[str, Any], event: AcceptedEvent, current_time: float
) -> AcceptedRefund | None:
    """Return the sum of an order's refunds, dated by the last of them, or by the order if they have no date.
    Later reports of webhooks replace it.
    """
    amount, refunded_at = _sum_refunds(values), _find_refund_time(values, event.event_time, current_time)
    if amount is None and read_status(values) != "refunded":
        return None
    return _report_sum(event, amount, refunded_at)


def _make_void(values: Mapping[str, Any], event: AcceptedEvent, current_time: float) -> AcceptedRefund | None:
    """Return None for a payment without money: another payment may have the order's id."""
    cancelled_at = moment(current_time, _find_text(values, "cancelled_at"), event.event_time / 1000)
    return _report_sum(event, None, cancelled_at) if Decimal(event.amount or 0) > 0 else None


def _report_sum(event: AcceptedEvent, amount: str | None, refunded_at: int) -> AcceptedRefund:
    """Report the sum of an order's refunds; None is everything."""
    return AcceptedRefund(
        order_ids=(str(event.order_id),),
        at=refunded_at,
        currency=event.currency,
        statements=(MoneyBack(amount=amount, version=refunded_at),),
    )


def _sum_refunds(values: Mapping[str, Any]) -> str | None:
    """Return None without refunds. Raise Invalid for an amount that isn't a number or is too large."""
    name = "refunds" if is_blank(values.get("refunded")) else "refunded"
    text = str(values.get(name) or "")
    try:
        amounts = map(to_number, _REFUND_ITEM.findall(text) if name == "refunds" else [values[name]])
        amount = abs(sum(amounts, Decimal(0)))
        return decimal_text(amount, MAX_AMOUNT, AMOUNT_STEP) if amount else None
    except ValueError as error:
        raise Invalid.of(name, str(error)) from None


def _find_refund_time(values: Mapping[str, Any], ordered_at: int, current_time: float) -> int:
    dates = _REFUND_DATE.findall(str(values.get("refunds") or ""))
    try:
        return max((parse_event_time(f"{date}Z", current_time) for date in dates), default=ordered_at)
    except ValueError:
        return ordered_at


async def store(connection: AsyncConnection, space: Space, items: Sequence[PastOrder]) -> list[Errors | None]:
    """Refuse cancelled orders. Orders that were cancelled in an earlier file count again."""
    orders = [item.event for item in items if not item.is_cancelled]
    refunds = [item.refund for item in items if item.refund is not None]
    reported_ids = {refund.order_ids[0] for refund in refunds}
    ids = [event.order_id for event in orders if event.order_id and event.order_id not in reported_ids]
    voided_ids = await fetch_voided_orders(connection, space.id, ids)
    refunds += [_report_sum(event, "0", event.event_time) for event in orders if event.order_id in voided_ids]
    new_rows = [NewRow("event", _encode(event), Sender.IMPORT) for event in orders]
    new_rows += [NewRow("refund", _encode(refund), Sender.IMPORT) for refund in refunds]
    await append(connection, [space.id] * len(new_rows), new_rows)
    return [CANCELLED_ORDER if item.is_cancelled else None for item in items]


def find_source(item: PastOrder, rules: SourceRules) -> str:
    """Return the source that reports will show for an order; empty if unknown."""
    touch = read_event_touch(item.event, item.event.event_time * 1000, rules)
    return "" if touch is None else rules.names.get_name(touch.source_id)
