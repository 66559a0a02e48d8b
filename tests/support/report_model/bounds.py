"""The limits above which reports leave out an event's amount but still count the event."""

from __future__ import annotations

from fractions import Fraction

from tests.support.report_model.facts import Event

MAX_AMOUNT, MAX_PAGE_AMOUNT = 10**11, 10**7
"""In the Space's currency."""


def reason_beyond(size: Fraction, *, is_from_page: bool) -> str | None:
    """Return why an amount of this size in the Space's currency is left out, or None."""
    if is_from_page and size > MAX_PAGE_AMOUNT:
        return "page_amount_too_large"
    return "too_large" if size > MAX_AMOUNT else None


def limit_amount(event: Event) -> Event:
    """Return an event in the Space's currency, without its amount if that exceeds a limit."""
    size = abs(Fraction(event.amount or 0))
    reason = reason_beyond(size, is_from_page=event.from_page)
    return event if reason is None else event.counting(reason)
