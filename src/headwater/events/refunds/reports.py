"""Compute the refunds of an order from its senders' reports. Pure.

Senders report the same refund in several ways, late, repeatedly and in any order: a single refund, the sum of
all refunds, or a voided order. Refunds are derived from the latest version of each report, so the order of
arrival doesn't change their sum.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from decimal import Decimal
from typing import TypeVar

import msgspec

EVERYTHING = Decimal("Infinity")
OF_ORDER = ""
"""Stands for the order's currency while the order is unknown."""


class MoneyBack(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True):
    """One refund or, without `item`, the sum of a part's refunds."""

    part: str = ""
    """A charge, the disputes, or the whole order. Parts add up."""
    item: str = ""
    amount: str | None = None
    """A decimal number from 0; None for the order's whole amount."""
    version: int = 0
    """In ms since 1970. A later statement about the same item replaces it."""
    failed: bool = False


class AcceptedRefund(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True):
    """A report about an order's money, stored in the inbox."""

    order_ids: tuple[str, ...]
    at: int
    """When it happened, in ms since 1970."""
    currency: str | None = None
    """None means the order's."""
    statements: tuple[MoneyBack, ...] = ()


class RefundReport(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True):
    """A stored statement and its receipt."""

    statement: MoneyBack
    receipt: int
    at: int
    currency: str | None = None
    """None means the Space's, OF_ORDER the order's."""
    has_currency: bool = True
    """False if it is the order's, also of an event that becomes the order later."""
    sender: str

    @property
    def amount(self) -> Decimal:
        return EVERYTHING if self.statement.amount is None else Decimal(self.statement.amount)


class Refund(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True):
    """A counted refund: an event with the receipt's id, once the order is known."""

    receipt: int
    at: int
    amount: Decimal
    """Above 0; EVERYTHING while the order is unknown."""
    currency: str | None = None
    sender: str
    is_event: bool = False


class OrderMoney(msgspec.Struct, frozen=True):
    amount: Decimal | None
    currency: str | None
    """None means the Space's."""


Money = TypeVar("Money", RefundReport, Refund)


def add_reports(reports: Iterable[RefundReport], new: Iterable[RefundReport]) -> list[RefundReport]:
    """Keep the latest version per part and item."""
    reports_by_item = {(report.statement.part, report.statement.item): report for report in reports}
    for report in new:
        key = report.statement.part, report.statement.item
        existing_report = reports_by_item.get(key)
        if existing_report is None or existing_report.statement.version <= report.statement.version:
            reports_by_item[key] = report
    return list(reports_by_item.values())


def set_order_currency(
    items: Iterable[Money], receipts: Collection[int], order_currency: str | None, space_currency: str
) -> list[Money]:
    """Give reports or refunds with these receipts, and those in the order's currency, the currency as the
    order has it, also if it has none. So both keep their currency, or follow the Space's, when that changes.
    """
    same_currencies = {OF_ORDER, order_currency}
    if order_currency in {None, space_currency}:
        same_currencies |= {None, space_currency}
    return [
        msgspec.structs.replace(item, currency=order_currency)
        if item.receipt in receipts or item.currency in same_currencies
        else item
        for item in items
    ]


def count_refunds(
    reports: list[RefundReport], counted_refunds: Iterable[Refund], order: OrderMoney | None
) -> list[Refund]:
    """Keep counted refunds that the reports support; the difference becomes one more refund. Without an order
    there is no upper limit yet.
    """
    returned_amounts = _returned(reports, order)
    refunds = [*_bounded(counted_refunds, dict(returned_amounts))]
    for currency, amount in returned_amounts.items():
        amounts = [refund.amount for refund in refunds if refund.currency == currency]
        counted_amount = sum(amounts, Decimal(0))
        if amount > counted_amount:
            _add(refunds, _newest(reports, currency), amount - counted_amount, currency)
    return refunds


def _returned(reports: list[RefundReport], order: OrderMoney | None) -> dict[str | None, Decimal]:
    order_currency = order.currency if order is not None else None
    limit = EVERYTHING if order is None else max(order.amount or Decimal(0), Decimal(0))
    by_currency: dict[str | None, list[RefundReport]] = {}
    for report in reports:
        by_currency.setdefault(report.currency, []).append(report)
    amounts = {currency: _level(group) for currency, group in by_currency.items()}
    if EVERYTHING in amounts.values():
        return {order_currency: limit}
    return {
        currency: min(amount, limit) if currency == order_currency else amount
        for currency, amount in amounts.items()
    }


def _level(reports: list[RefundReport]) -> Decimal:
    parts: dict[str, list[RefundReport]] = {}
    for report in reports:
        parts.setdefault(report.statement.part, []).append(report)
    return sum((_part_level(level) for level in parts.values()), Decimal(0))


def _part_level(reports: list[RefundReport]) -> Decimal:
    """Return the returned money. The reported sum, which may include later failed refunds, and the single
    refunds describe the same money.
    """
    total = next((report for report in reports if not report.statement.item), None)
    items = [report for report in reports if report.statement.item]
    items_amount = sum((item.amount for item in items if not item.statement.failed), Decimal(0))
    if total is None or total.amount == EVERYTHING:
        return items_amount if total is None else EVERYTHING
    failed_amount = sum(
        (
            item.amount
            for item in items
            if item.statement.failed and item.statement.version > total.statement.version
        ),
        Decimal(0),
    )
    return max(total.amount - failed_amount, items_amount, Decimal(0))


def _bounded(counted_refunds: Iterable[Refund], returned: dict[str | None, Decimal]) -> Iterable[Refund]:
    """Reduce counted refunds to the returned money, the latest first."""
    for refund in counted_refunds:
        remaining_amount = returned.get(refund.currency, Decimal(0))
        amount = min(refund.amount, remaining_amount)
        if amount > 0:
            returned[refund.currency] = (
                Decimal(0) if remaining_amount == amount else remaining_amount - amount
            )
            yield msgspec.structs.replace(refund, amount=amount)


def _newest(reports: list[RefundReport], currency: str | None) -> RefundReport:
    fitting = [report for report in reports if report.currency == currency and report.amount]
    return max(fitting or reports, key=lambda report: report.receipt)


def _add(refunds: list[Refund], report: RefundReport, amount: Decimal, currency: str | None) -> None:
    for index, refund in enumerate(refunds):
        if (refund.receipt, refund.currency) == (report.receipt, currency):
            refunds[index] = msgspec.structs.replace(refund, amount=refund.amount + amount)
            return
    refund = Refund(
        receipt=report.receipt, at=report.at, amount=amount, currency=currency, sender=report.sender
    )
    refunds.append(refund)
