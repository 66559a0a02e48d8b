"""Turn refund reports into negative events of known orders. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

import msgspec

from headwater.events.accepted import ORDER_NAME, STEP_EVENTS, AcceptedEvent
from headwater.events.batch_store import Duplicate
from headwater.events.refunds.reports import (
    EVERYTHING,
    OF_ORDER,
    AcceptedRefund,
    MoneyBack,
    OrderMoney,
    Refund,
    RefundReport,
    add_reports,
    count_refunds,
    set_order_currency,
)
from headwater.events.refunds.store import OrderRefunds
from headwater.http.decimals import AMOUNT_STEP, MAX_AMOUNT, decimal_text
from headwater.intake.inbox.rows import InboxRow
from headwater.intake.pipeline.batch import Batch, Item
from headwater.intake.pipeline.duplicates import order_key
from headwater.people.identity.directory import Contact
from headwater.people.identity.resolution import ItemIdentity
from headwater.people.identity.senders import BUSINESS_RECORDS, Sender


class KnownOrder(NamedTuple):
    order_id: str
    event_id: int
    is_stored: bool
    contact: Contact
    event_name: str
    money: OrderMoney
    order_name: str | None
    do_not_capi: bool
    rank: tuple[bool, bool, int]
    """Refunds go to the event with the highest rank. An event of the business ranks above one of a page,
    which strangers can send; then a purchase above other events, and an earlier event above a later one.
    """


_PLUGIN_REFUND = re.compile(r"woocommerce:[^:]+:order:([0-9]+):refund:[0-9]+")
"""The key of a WooCommerce plugin's refund, with the order's id."""


def read_refund_event(event: AcceptedEvent, arrival: InboxRow) -> AcceptedRefund | None:
    """Return a refund sent as a negative event by a business record or the WooCommerce plugin. As an event,
    it would be a duplicate, or count twice. The plugin withdraws a refund with the amount 0.
    """
    amount = Decimal(event.amount or 0)
    order_id = _refunded_order(event, amount, Sender(arrival.sender))
    if order_id is None:
        return None
    item = event.idempotency_key or f"receipt {arrival.id}"
    return AcceptedRefund(
        order_ids=(order_id,),
        at=event.event_time,
        currency=event.currency,
        statements=(
            MoneyBack(item=item, amount=f"{-amount:f}" if amount else "0", version=event.event_time),
        ),
    )


def _refunded_order(event: AcceptedEvent, amount: Decimal, sender: Sender) -> str | None:
    if sender in BUSINESS_RECORDS:
        return None if amount >= 0 or order_key(event) is None else event.order_id
    if amount > 0:
        return None
    key = _PLUGIN_REFUND.fullmatch(event.idempotency_key or "")
    return key[1] if key is not None and sender is Sender.API_KEY else None


def list_order_ids(batch: Batch) -> set[str]:
    order_ids = {name for _, accepted_refund in batch.parsed.refunds for name in accepted_refund.order_ids}
    events = (item.event for item in batch.items if item.event is not None)
    return order_ids | {key[1] for event in events if (key := order_key(event))}


def list_refunded_orders(batch: Batch) -> set[str]:
    """Return the ids of orders with refunds, also earlier ones."""
    order_ids = {name for _, accepted_refund in batch.parsed.refunds for name in accepted_refund.order_ids}
    return order_ids | {name for refunds in batch.refunds.values() for name in refunds.order_ids}


def settle_refunds(batch: Batch) -> None:
    if not batch.parsed.refunds and not batch.refunds:
        return
    batch_orders = [*_list_batch_orders(batch)]
    changed_ids = [order.order_id for order in batch_orders if order.order_id in batch.refunds]
    ranked_orders = sorted([*_list_stored_orders(batch), *batch_orders], key=lambda order: order.rank)
    orders = {order.order_id: order for order in ranked_orders}
    for arrival, accepted_refund in batch.parsed.refunds:
        refunds = _find_refunds(batch, accepted_refund.order_ids)
        changed_ids.append(refunds.order_id)
        _add_report(batch, refunds, arrival, accepted_refund, orders)
    changed_refunds = {batch.refunds[name].order_id: batch.refunds[name] for name in changed_ids}
    arrivals = {arrival.id: arrival for arrival, _ in batch.parsed.refunds}
    for refunds in changed_refunds.values():
        _add_events(batch, refunds, _find_order(refunds, orders), arrivals)
        _record_corrections(batch, refunds)
    batch.refund_changes.orders = list(changed_refunds.values())


def _list_batch_orders(batch: Batch) -> Iterator[KnownOrder]:
    for item in batch.items:
        event = item.event
        if event is None or event.event_name in STEP_EVENTS:
            continue
        key = order_key(event)
        if key is None or Decimal(event.amount or 0) < 0:
            continue
        yield KnownOrder(
            order_id=key[1],
            event_id=item.id,
            is_stored=False,
            contact=item.contact,
            event_name=event.event_name,
            money=OrderMoney(Decimal(event.amount) if event.amount else None, event.currency),
            order_name=event.order_name,
            do_not_capi=event.do_not_capi,
            rank=_rank(item.id, event.event_name, is_trusted=item.identity.sender.is_trusted),
        )


def _list_stored_orders(batch: Batch) -> Iterator[KnownOrder]:
    for order in batch.orders.values():
        yield KnownOrder(
            order_id=order.order_id,
            event_id=order.event_id,
            is_stored=True,
            contact=batch.directory.contacts[order.contact_id],
            event_name=order.event_name,
            money=OrderMoney(order.amount, order.currency),
            order_name=order.order_name,
            do_not_capi=order.do_not_capi,
            rank=_rank(order.event_id, order.event_name, is_trusted=not order.by_browser),
        )


def _rank(event_id: int, event_name: str, *, is_trusted: bool) -> tuple[bool, bool, int]:
    return is_trusted, event_name == ORDER_NAME, -event_id


def _find_order(refunds: OrderRefunds, orders: dict[str, KnownOrder]) -> KnownOrder | None:
    known_orders = (orders[name] for name in refunds.order_ids if name in orders)
    return max(known_orders, key=lambda order: order.rank, default=None)


def _find_refunds(batch: Batch, order_ids: tuple[str, ...]) -> OrderRefunds:
    """Find reports by any id, and register all ids."""
    existing_refunds = {
        batch.refunds[name].order_id: batch.refunds[name] for name in order_ids if name in batch.refunds
    }
    refunds, *others = existing_refunds.values() or [OrderRefunds(order_ids[0], [])]
    for other in others:
        refunds.join(other)
    for name in (*order_ids, *(name for other in others for name in other.order_ids)):
        batch.refunds[name] = refunds
        refunds.add_name(name)
    return refunds


def _add_report(
    batch: Batch,
    refunds: OrderRefunds,
    arrival: InboxRow,
    accepted: AcceptedRefund,
    orders: dict[str, KnownOrder],
) -> None:
    """Record reports that change nothing as duplicates."""
    sender = Sender(arrival.sender)
    currency = accepted.currency or OF_ORDER
    new = [
        RefundReport(
            statement=statement,
            receipt=arrival.id,
            at=accepted.at,
            currency=currency,
            has_currency=accepted.currency is not None,
            sender=sender.value,
        )
        for statement in accepted.statements
    ]
    order = _find_order(refunds, orders)
    before = _count(batch, refunds, order)
    refunds.reports = add_reports(refunds.reports, new)
    refunds.counted_refunds = _count(batch, refunds, order)
    if before == refunds.counted_refunds and any(
        statement.amount != "0" for statement in accepted.statements
    ):
        event_id = refunds.stored_refunds[-1].receipt if refunds.stored_refunds else None
        batch.duplicates.append(Duplicate(arrival.id, "refund", event_id, arrival.received_at, sender))


def _count(batch: Batch, refunds: OrderRefunds, order: KnownOrder | None) -> list[Refund]:
    if order is None:
        return count_refunds(refunds.reports, refunds.counted_refunds, None)
    receipts = {report.receipt for report in refunds.reports if not report.has_currency}
    currencies = order.money.currency, batch.space.currency
    refunds.reports = set_order_currency(refunds.reports, receipts, *currencies)
    refunds.counted_refunds = set_order_currency(refunds.counted_refunds, receipts, *currencies)
    return count_refunds(refunds.reports, refunds.counted_refunds, order.money)


def _add_events(
    batch: Batch, refunds: OrderRefunds, order: KnownOrder | None, arrivals: dict[int, InboxRow]
) -> None:
    if order is None:
        is_waiting = not all(refund.is_event for refund in refunds.counted_refunds)
        current_time = batch.arrivals[-1].received_at
        refunds.waiting_since = (refunds.waiting_since or current_time) if is_waiting else None
        return
    refunds.waiting_since = None
    counted_refunds = _count(batch, refunds, order)
    stored_receipts = {refund.receipt for refund in refunds.stored_refunds}  # in another currency, too
    for refund in counted_refunds:
        if refund.receipt not in stored_receipts:
            arrival = arrivals.get(refund.receipt, batch.arrivals[-1])
            batch.items.append(_make_item(refund, order, arrival.received_at))
            if order.is_stored:
                batch.refund_changes.order_by_new_refund[refund.receipt] = order.event_id
        elif not order.is_stored:
            batch.refund_changes.order_by_stored_refund[refund.receipt] = order.event_id
    refunds.counted_refunds = [msgspec.structs.replace(refund, is_event=True) for refund in counted_refunds]


def _record_corrections(batch: Batch, refunds: OrderRefunds) -> None:
    current = {refund.receipt: refund for refund in refunds.counted_refunds}
    for former_refund in refunds.stored_refunds:
        refund = current.get(former_refund.receipt)
        if refund is None:
            batch.refund_changes.withdrawn.append(former_refund.receipt)
        elif refund != former_refund:
            batch.refund_changes.amounts.append(refund)


def _make_item(refund: Refund, order: KnownOrder, received_at: int) -> Item:
    assert refund.amount != EVERYTHING
    sender = Sender(refund.sender)
    arrival = InboxRow(refund.receipt, "refund", sender, received_at, "", "")
    identity = ItemIdentity(
        receipt_id=refund.receipt, occurred_at=refund.at * 1000, received_at=received_at, sender=sender
    )
    item = Item(arrival, identity)
    item.contact = order.contact
    item.event = AcceptedEvent(
        event_name=order.event_name,
        event_time=refund.at,
        amount=decimal_text(-refund.amount, MAX_AMOUNT, AMOUNT_STEP),
        currency=refund.currency,
        order_name=order.order_name or order.order_id,
        do_not_capi=order.do_not_capi,
    )
    return item
