"""Right answers outside reports, computed from the plan of the shop."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from typing import Any

from tests.assistants.shop import FIELD_LABELS, LABELS, ZONE, Sale, Shop


def _sales(shop: Shop, month: int, *names: str) -> list[Sale]:
    """Return a month's events with an amount, latest first."""
    return [
        sale
        for sale in reversed(shop.sales)
        if sale.time.month == month and sale.amount is not None and sale.name in (names or sale.name)
    ]


def _person_items(shop: Shop, number: int) -> list[Any]:
    """Return a person's sales and visits, latest first."""
    items = [*shop.sales, *shop.visits]
    return sorted(
        (item for item in items if item.person.number == number),
        key=lambda item: item.time.astimezone(UTC), reverse=True,
    )  # fmt: skip


def _last_amount(number: int) -> Callable[[Shop], float | None]:
    def last_amount(shop: Shop) -> float | None:
        sale = next(item for item in _person_items(shop, number) if isinstance(item, Sale))
        return None if sale.amount is None else float(sale.amount)

    return last_amount


def _latest_order_path(shop: Shop) -> list[str]:
    sale = _sales(shop, 6, "purchase")[0]
    visits = [visit for visit in shop.visits if visit.person is sale.person and visit.time <= sale.time]
    return [visit.source for visit in visits if (sale.time - visit.time).days < 90]


def _person_numbers(shop: Shop) -> set[int]:
    return {item.person.number for item in (*shop.sales, *shop.visits)}


RIGHT: dict[str, Callable[[Shop], Any]] = {
    "currency": lambda _: "EUR",
    "timezone": lambda _: "Europe/Berlin",
    "custom_event_1": lambda _: LABELS["custom_event_1"],
    "field_16": lambda _: FIELD_LABELS["profile_field_16"],
    "field_labels": lambda _: FIELD_LABELS,
    "last_event": lambda shop: shop.sales[-1].time.astimezone(ZONE).isoformat(),
    "latest_order_of_june": lambda shop: (
        f"{_sales(shop, 6, 'purchase')[0].time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    ),
    "largest_of_may": lambda shop: max(float(s.amount or 0) for s in _sales(shop, 5)),
    "refunds_of_june": lambda shop: [
        float(sale.amount) for sale in _sales(shop, 6) if sale.amount and sale.amount < 0
    ],
    "orders_of_9_june": lambda shop: [
        float(sale.amount or 0) for sale in _sales(shop, 6, "purchase") if sale.time.day == 9
    ],
    "path_of_the_latest_order": _latest_order_path,
    "name_of_19": lambda shop: shop.people[18].name,
    "plan_of_20": lambda shop: shop.people[19].plan,
    "first_source_of_19": lambda shop: _person_items(shop, 19)[-1].source,
    "journey_of_20": lambda shop: len(_person_items(shop, 20)),
    "last_amount_of_12": _last_amount(12),
    "last_amount_of_43": _last_amount(43),
    "number_of_ines_evans": lambda shop: sum(
        person.name == "Ines Evans" and person.number in _person_numbers(shop) for person in shop.people
    ),
    "number_of_ines_fischers": lambda shop: sum(
        sale_name == "Ines Fischer"
        for sale_name in {s.person.number: s.person.name for s in shop.sales}.values()
    ),
    "number_of_contacts": lambda shop: len(_person_numbers(shop)),
    "number_of_companies": lambda shop: len(
        {sale.person.company for sale in shop.sales if sale.person.company is not None}
    ),
    "external_id_of_hazel": lambda _: "hazel",
    "end_of_the_second_quarter": lambda _: "2026-06-30 23:59:59",
    "nothing": lambda _: 0,
}  # fmt: skip
