"""The refunds of an order, from what senders report of it. Pure.

Senders tell the same refund in several ways, late, repeatedly and in any order: one refund, the sum
of all so far, or that the order is void. The latest report of each counts, and the refunds follow
from all of them together, so that the order of arrival makes no difference to their sum.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

import msgspec

EVERYTHING = Decimal("Infinity")
"""The whole amount of an order, whatever it is."""


class MoneyBack(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True):
    """A statement that some of an order's money came back: one refund or, without `item`, the sum
    of all refunds of a part.
    """

    part: str = ""
    """What the statement is about: a charge, the disputes, or the whole order. Parts add up."""
    item: str = ""
    amount: str | None = None
    """A decimal number from 0; None for the order's whole amount."""
    version: int = 0
    """When it was so, in ms since 1970: a later statement about the same replaces it."""
    failed: bool = False
    """True for a refund of this amount that failed after all: the money stays."""


class AcceptedRefund(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True):
    """A report about the money of an order, as it waits in the inbox."""

    order_ids: tuple[str, ...]
    """Ids of the order, the best first: senders have several names for one."""
    at: int
    """When it happened, in ms since 1970."""
    currency: str | None = None
    """None is the Space's."""
    statements: tuple[MoneyBack, ...] = ()
    """None when the report only says which ids belong to one order."""


class RefundReport(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True):
    """A statement that is kept, and the receipt that brought it."""

    statement: MoneyBack
    receipt: int
    at: int
    currency: str | None = None
    sender: str

    @property
    def amount(self) -> Decimal:
        return EVERYTHING if self.statement.amount is None else Decimal(self.statement.amount)


class Refund(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True):
    """A refund that counts: an event with the receipt's number, once the order is known."""

    receipt: int
    at: int
    amount: Decimal
    """Above 0; EVERYTHING while the order is unknown."""
    currency: str | None = None
    sender: str
    is_event: bool = False
    """True once it is stored as an event."""


class OrderMoney(msgspec.Struct, frozen=True):
    """The amount of a stored order."""

    amount: Decimal | None
    currency: str | None
    """None is the Space's."""


def add_reports(reports: Iterable[RefundReport], new: Iterable[RefundReport]) -> list[RefundReport]:
    """Return the reports with new ones: of each part and item, the latest version."""
    latest = {(report.statement.part, report.statement.item): report for report in reports}
    for report in new:
        key = report.statement.part, report.statement.item
        known = latest.get(key)
        if known is None or known.statement.version <= report.statement.version:
            latest[key] = report
    return list(latest.values())


def count_refunds(
    reports: list[RefundReport], counted: Iterable[Refund], order: OrderMoney | None
) -> list[Refund]:
    """Return the refunds of an order. Those counted before stay as far as the reports bear them,
    and what is missing is one more refund. Without an order nothing bounds them yet.
    """
    returned = _returned(reports, order)
    refunds = [*_bounded(counted, dict(returned))]
    for currency, amount in returned.items():
        alike = [refund.amount for refund in refunds if refund.currency == currency]
        counted_amount = sum(alike, Decimal(0))
        if amount > counted_amount:
            _add(refunds, _newest(reports, currency), amount - counted_amount, currency)
    return refunds


def _returned(reports: list[RefundReport], order: OrderMoney | None) -> dict[str | None, Decimal]:
    """Return the money that came back, by currency."""
    own = order.currency if order is not None else None
    most = EVERYTHING if order is None else max(order.amount or Decimal(0), Decimal(0))
    by_currency: dict[str | None, list[RefundReport]] = {}
    for report in reports:
        by_currency.setdefault(report.currency, []).append(report)
    amounts = {currency: _level(group) for currency, group in by_currency.items()}
    if EVERYTHING in amounts.values():
        return {own: most}
    return {
        currency: min(amount, most) if currency == own else amount for currency, amount in amounts.items()
    }


def _level(reports: list[RefundReport]) -> Decimal:
    parts: dict[str, list[RefundReport]] = {}
    for report in reports:
        parts.setdefault(report.statement.part, []).append(report)
    return sum((_part_level(part) for part in parts.values()), Decimal(0))


def _part_level(reports: list[RefundReport]) -> Decimal:
    """Return the money of one part. The sum that the sender reports and the single refunds are two
    views of the same money; a refund that failed later is still in the sum.
    """
    total = next((report for report in reports if not report.statement.item), None)
    items = [report for report in reports if report.statement.item]
    single = sum((item.amount for item in items if not item.statement.failed), Decimal(0))
    if total is None or total.amount == EVERYTHING:
        return single if total is None else EVERYTHING
    failed = sum(
        (
            item.amount
            for item in items
            if item.statement.failed and item.statement.version > total.statement.version
        ),
        Decimal(0),
    )
    return max(total.amount - failed, single, Decimal(0))


def _bounded(counted: Iterable[Refund], left: dict[str | None, Decimal]) -> Iterable[Refund]:
    """Yield the refunds that the money which came back still bears, the latest bounded first."""
    for refund in counted:
        rest = left.get(refund.currency, Decimal(0))
        amount = min(refund.amount, rest)
        if amount > 0:
            left[refund.currency] = Decimal(0) if rest == amount else rest - amount
            yield msgspec.structs.replace(refund, amount=amount)


def _newest(reports: list[RefundReport], currency: str | None) -> RefundReport:
    """Return the report that a missing refund came with."""
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
