"""Helpers for refund reports in deliveries. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, cast

from headwater.events.refunds.reports import AcceptedRefund, MoneyBack
from headwater.http.decimals import AMOUNT_STEP, MAX_AMOUNT, decimal_text
from headwater.intake.ingest.times import parse_event_time
from headwater.intake.webhooks.expressions import parse
from headwater.intake.webhooks.models import MappingInput
from headwater.intake.webhooks.values import to_number, to_text
from headwater.spaces.currencies import parse_currency

LONGEST_ID = 255


def find(document: MappingInput, expression: str) -> Any:
    """Return None if missing or blank."""
    return parse(expression).find(document)


def list_objects(document: MappingInput, expression: str) -> list[dict[str, Any]]:
    value = find(document, expression)
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]


def moment(current_time: float, *values: Any) -> int:
    """Return the first valid time, else now, in ms since 1970."""
    for value in values:
        try:
            if value is not None:
                return parse_event_time(value, current_time)
        except (ValueError, TypeError):
            continue
    return round(current_time * 1000)


def add_up(values: Iterable[Any]) -> Decimal:
    """Return the sum of amounts, some of which may be written as negative. Raises ValueError."""
    return sum((abs(to_number(value)) for value in values), Decimal(0))


def format_amount(*values: Any) -> str:
    """Return the sum as text. Raises ValueError."""
    return decimal_text(add_up(values), MAX_AMOUNT, AMOUNT_STEP)


def ids(*values: Any) -> tuple[str, ...]:
    """Return the distinct non-blank ids."""
    texts = (to_text(value).strip() for value in values if isinstance(value, str | int))
    return tuple(dict.fromkeys(text[:LONGEST_ID] for text in texts if text))


def report(
    order_ids: tuple[str, ...], refunded_at: int, currency: Any, statements: list[MoneyBack]
) -> AcceptedRefund | None:
    """Return None if there is nothing to report. The amount of an order in no currency doesn't count, so
    nothing of it is taken back.
    """
    if not order_ids or not (statements or len(order_ids) > 1):
        return None
    try:
        code = parse_currency(currency) if isinstance(currency, str) and currency.strip() else None
    except ValueError:
        return None
    return AcceptedRefund(order_ids=order_ids, at=refunded_at, currency=code, statements=tuple(statements))
