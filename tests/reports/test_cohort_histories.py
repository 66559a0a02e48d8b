"""The product's cohort reports, and the events behind their figures, compared with the model's during random
histories and at their end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date
from typing import Any

import pytest

from tests.reports.court import COHORTS, Court
from tests.reports.faults import FAULTS, Plant
from tests.support.report_model import cohorts
from tests.support.report_model.credit import Conversion
from tests.support.report_model.facts import Event, Facts


def _put(name: str, change: Callable[..., Any]) -> Plant:
    return lambda patch: patch.setattr(cohorts, name, change)


def _own_path(conversion: Conversion, _first: Conversion) -> Sequence[Any]:
    return conversion.window


def _contacts(event: Event, **_: bool) -> object:
    return event.contact_id


def _utc_month(event: Event, _facts: Facts) -> date:
    return event.event_time.astimezone(UTC).date().replace(day=1)


def _last_order_first(conversion: Conversion) -> tuple[object, int]:
    return conversion.event.event_time.replace(microsecond=0), -conversion.event.id


def _every_event_buys(patch: pytest.MonkeyPatch) -> None:
    right = cohorts.Figures.add

    def add(figures: Any, cell: Any, customer: object, event: Event, amount: Any) -> None:
        right(figures, cell, customer, event, amount)
        figures.buying.setdefault(cell, set()).add(customer)

    patch.setattr(cohorts.Figures, "add", add)


WRONG: dict[str, Plant] = {
    "a later order has credit of its own": _put("customer_path", _own_path),
    "every contact of a company is a customer": _put("find_customer", _contacts),
    "months are those of UTC": _put("event_month", _utc_month),
    "of orders in one second the later comes first": _put("_order_key", _last_order_first),
    "a refund is a purchase": _every_event_buys,
    **{
        name: FAULTS[name]
        for name in (
            "the end of the window is not part of it",
            "a touch at the event's moment does not count",
            "a company's path is its contact's",
            "left-over cents go to the last touches",
            "campaigns are grouped by name",
        )
    },
}

FOUND_SOON = {
    "a later order has credit of its own", "every contact of a company is a customer",
    "a refund is a purchase",
}  # fmt: skip


def test_it_works(court: Court) -> None:
    court.subject = COHORTS
    court.judge_random(seconds=3, faults=WRONG, rare_faults=WRONG.keys() - FOUND_SOON)
