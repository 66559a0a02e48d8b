"""Reasons for which a report is not made although its query is valid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from headwater.http.errors import Problem


class ReportProblem(StrEnum):
    """The typed reasons."""

    TOO_MUCH = "too_much"
    MISSING_RATES = "missing_rates"


class ReportRefused(Problem):
    """422: a report that is not made."""


class ReportTooLarge(ReportRefused):
    """422: the sums take longer than a request may."""

    def __init__(self) -> None:
        super().__init__(
            "There is too much to add up: narrow the range.",
            422,
            {"reason": ReportProblem.TOO_MUCH},
        )


@dataclass(frozen=True)
class MissingRate:
    """A currency whose worth nobody knows on some days."""

    currency: str
    first_day: date
    last_day: date
    days: int


class MissingRates(ReportRefused):
    """422: amounts are in several currencies, and some rate that would make them one is missing."""

    def __init__(self, target: str, missing: Sequence[MissingRate]) -> None:
        words = "; ".join(
            f"{each.currency} from {each.first_day} to {each.last_day}" for each in missing[:5]
        )
        super().__init__(
            f"Amounts are in several currencies, and there is no exchange rate to {target} for "
            f"{words}. Store rates with PUT /rates or headwater rates import; nothing is added up "
            "without them.",
            422,
            {
                "reason": ReportProblem.MISSING_RATES,
                "currency": target,
                "missing": [
                    {
                        "currency": each.currency, "first_day": f"{each.first_day}",
                        "last_day": f"{each.last_day}", "days": each.days,
                    }
                    for each in missing
                ],
            },
        )  # fmt: skip
