"""What a pull changed in the ledger, in words. Pure.

Meta took back 12.40 EUR of Tuesday, 24 Nov 2026, in the pull of 25 Nov 2026, 19:00.
"""

from __future__ import annotations

from decimal import Decimal
from zoneinfo import ZoneInfo

from headwater.base.dates import format_day, format_day_and_time
from headwater.http.inputs.account_kinds import find_title
from headwater.spaces.currencies import format_money
from headwater.spend.changes import ChangedSpend
from headwater.spend.platforms.registry import PLATFORMS

_UNITS = 1_000_000
"""The stored amount of one unit of a currency."""


def describe_restatement(changed_spend: ChangedSpend, timezone: str) -> str | None:
    """Return a sentence, with the pull's moment in `timezone`; None if no pull restated the row."""
    if changed_spend.pulled_at is None:
        return None
    row, amount = changed_spend.row, Decimal(changed_spend.row.figures[0]) / _UNITS
    title = find_title(PLATFORMS, row.platform)
    day, money = f"{row.date:%A}, {format_day(row.date)}", format_money(abs(amount), row.currency)
    if amount < 0:
        change = f"took back {money} of {day}"
    elif amount > 0:
        change = f"added {money} to {day}"
    else:
        change = f"changed only the counts of {day}"
    moment = changed_spend.pulled_at.astimezone(ZoneInfo(timezone))
    return f"{title} {change}, in the pull of {format_day_and_time(moment)}."
