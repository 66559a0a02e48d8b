"""Reports of orders' money, and the orders. The caller holds the Space's lock."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec
from psycopg import AsyncConnection, Connection

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries, fetch_all
from headwater.events.accepted import CONVERSIONS
from headwater.events.refunds.reports import Refund, RefundReport, add_reports

queries = Queries(__name__, "refunds.sql")

_read_reports = msgspec.json.Decoder(list[RefundReport]).decode
_read_refunds = msgspec.json.Decoder(list[Refund]).decode


@dataclass
class OrderRefunds:
    order_id: str
    order_ids: list[str]
    """All known ids of the order, including this one."""
    reports: list[RefundReport] = field(default_factory=list[RefundReport])
    counted_refunds: list[Refund] = field(default_factory=list[Refund])
    waiting_since: int | None = None
    """The first return of money while the order was unknown, in µs since 1970."""
    stored_refunds: tuple[Refund, ...] = ()

    def add_name(self, name: str) -> None:
        if name not in self.order_ids:
            self.order_ids.append(name)

    def join(self, other: OrderRefunds) -> None:
        """Add the reports of another id, which turned out to be the same order's."""
        self.reports = add_reports(self.reports, other.reports)
        self.counted_refunds = [*self.counted_refunds, *other.counted_refunds]
        self.stored_refunds += other.stored_refunds
        waiting_times = [moment for moment in (self.waiting_since, other.waiting_since) if moment is not None]
        self.waiting_since = min(waiting_times, default=None)


class StoredOrder(NamedTuple):
    order_id: str
    event_id: int
    contact_id: int
    event_name: str
    amount: Decimal | None
    currency: str | None
    order_name: str | None
    do_not_capi: bool
    by_browser: bool


def request_refunds(
    connection: Connection[Any], space_id: int, order_ids: Collection[str]
) -> Callable[[], dict[str, OrderRefunds]]:
    """Start loading reports; the result fetches them by requested id."""
    if not order_ids:
        return dict
    cursor = connection.execute(queries["load"], {"space_id": space_id, "order_ids": list(order_ids)})

    def fetch() -> dict[str, OrderRefunds]:
        by_id: dict[str, OrderRefunds] = {}
        by_main_id: dict[str, OrderRefunds] = {}
        for order_id, main_id, names, reports, counted_refunds, waiting_since in cursor:
            if main_id not in by_main_id:
                refunds = _read_refunds(counted_refunds)
                by_main_id[main_id] = OrderRefunds(
                    main_id,
                    names,
                    _read_reports(reports),
                    refunds,
                    waiting_since,
                    tuple(refund for refund in refunds if refund.is_event),
                )
            by_id[order_id] = by_id[main_id] = by_main_id[main_id]
        return by_id

    return fetch


def load_orders(
    connection: Connection[Any], space_id: int, order_ids: Collection[str]
) -> dict[str, StoredOrder]:
    if not order_ids:
        return {}
    values = {"space_id": space_id, "order_ids": list(order_ids), "event_names": list(CONVERSIONS)}
    orders = (StoredOrder(*row) for row in connection.execute(queries["orders"], values))
    return {order.order_id: order for order in orders}


async def fetch_voided_orders(
    connection: AsyncConnection, space_id: int, order_ids: Collection[str]
) -> set[str]:
    """Return the ids of orders whose refunds are reported as everything."""
    values = {"space_id": space_id, "order_ids": list(order_ids)}
    return {order_id for (order_id,) in await fetch_all(connection, queries["voided_orders"], values)}


def save_refunds(connection: Connection[Any], space_id: int, changed_refunds: Iterable[OrderRefunds]) -> None:
    orders: list[dict[str, Any]] = []
    links: list[dict[str, str]] = []
    for refunds in changed_refunds:
        orders.append(
            {
                "order_id": refunds.order_id,
                "order_ids": refunds.order_ids,
                "reports": refunds.reports,
                "counted": refunds.counted_refunds,
                "waiting_since": refunds.waiting_since,
            }
        )
        links += [
            {"order_id": name, "main_id": refunds.order_id}
            for name in refunds.order_ids
            if name != refunds.order_id
        ]
    if orders:
        connection.execute(queries["save"], {"space_id": space_id, "orders": rows(orders)})
    if links:
        connection.execute(queries["link"], {"space_id": space_id, "links": rows(links)})
