"""Refunds whose order never arrived are listed with their amount."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import psycopg

from headwater.alerts.quality.models import Finding, FindingKind
from headwater.alerts.quality.report import check_quality
from headwater.events.refunds.reports import AcceptedRefund, MoneyBack
from headwater.http.inputs.timerange import TimeRange
from headwater.spaces.spaces import fetch_space
from tests.support.pipeline import T0, Stage, add_sender, event, new_stage


def back(order_id: str, amount: str | None, **values: str) -> object:
    statement = MoneyBack(item="r1", amount=amount) if amount else MoneyBack()
    return add_sender(
        "webhook",
        AcceptedRefund(order_ids=(order_id,), at=T0, statements=(statement,), **values),  # type: ignore[arg-type]
    )


def find_problems(url: str, stage: Stage) -> list[Finding]:
    now = datetime.now(UTC)

    async def check() -> list[Finding]:
        async with await psycopg.AsyncConnection.connect(url) as connection:
            space = await fetch_space(connection, stage.space_id)
            period = TimeRange(now - timedelta(days=30), now)
            report = await check_quality(connection, space, period)
        kind = FindingKind.REFUNDS_WITHOUT_ORDER
        return [finding for finding in report.findings if finding.kind is kind]

    return asyncio.run(check())


def wait(stage: Stage, days: int) -> None:
    stage.connection.execute(
        "UPDATE order_refunds SET waiting_since = now() - %s WHERE waiting_since IS NOT NULL"
        " AND space_id = %s",
        (timedelta(days=days), stage.space_id),
    )


def test_it_works(connection: psycopg.Connection, database_url: str) -> None:
    """A refund is listed after 30 days, but neither earlier, nor once the order has arrived, nor for an order
    cancelled before payment.
    """
    stage = new_stage(connection, currency="EUR")
    stage.run(back("o1", "15.5"), back("o2", "7", currency="GBP"), back("o3", None))  # type: ignore[arg-type]
    wait(stage, 29)
    assert find_problems(database_url, stage) == []
    wait(stage, 31)
    (finding,) = find_problems(database_url, stage)
    assert finding.count == 2
    texts = {example.text for example in finding.examples}
    assert texts == {"order o1, 15.50 EUR", "order o2, 7.00 GBP"}
    stage.run(add_sender("import", event(order_id="o1", amount="20", email="ada@acme.com")))
    (finding,) = find_problems(database_url, stage)
    assert finding.count == 1
    assert sorted(map(float, stage.values("events", "amount"))) == [-15.5, 20]
