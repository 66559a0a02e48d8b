"""A fake Google with its own ledger, and a shop whose orders change."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from psycopg import AsyncConnection

from headwater.events.models import EventChange
from headwater.forwarding.deliveries import corrections
from headwater.forwarding.deliveries.changes import change_event, remove_event
from headwater.forwarding.platforms.google import Google
from tests.deliveries.staging import Sending
from tests.support.destinations import change_platform
from tests.support.fake_platform import Answer, FakePlatform, ReceivedRequest, Silence, Step

GOOGLE = Google()
SETTINGS = '{"customer_id": "1234567890"}'
NAMES = '{"purchase": "111"}'
HALF_HOUR, DAY = 1801, 86_400


@dataclass
class GoogleLedger:
    """Record amounts by transaction id, and refuse the sales and corrections that `refuse` selects."""

    amounts: dict[str, Decimal] = field(default_factory=dict[str, Decimal])
    requests: list[list[dict[str, Any]]] = field(default_factory=list[list[dict[str, Any]]])
    faults: list[str] = field(default_factory=list[str])
    refuse: Callable[[dict[str, Any]], bool] = lambda _: False
    react: Callable[[], str] = lambda: "accept"
    is_deciding: bool = True
    last: dict[str, str] = field(default_factory=dict[str, str])
    corrected: Counter[str] = field(default_factory=Counter[str])
    refused_ids: set[str] = field(default_factory=set[str])

    def __call__(self, request: ReceivedRequest) -> Step:
        if request.method == "GET" and not self.is_deciding:
            return Answer(body={"requestStatusPerDestination": [{"requestStatus": "PROCESSING"}]})
        if request.method == "GET":
            number = int(parse_qs(urlsplit(request.target).query)["requestId"][0][1:])
            indexes = [index for index, event in enumerate(self.requests[number]) if event.get("refused")]
            errors = [{"reason": "PROCESSING_ERROR_REASON_INVALID_EVENT",
                       "recordCount": str(len(indexes)), "recordIndices": indexes}]  # fmt: skip
            status = {"destination": {"productDestinationId": "111"},
                      "requestStatus": "PARTIAL_SUCCESS" if indexes else "SUCCESS",
                      "errorInfo": {"errorCounts": errors if indexes else []}}  # fmt: skip
            return Answer(body={"requestStatusPerDestination": [status]})
        reaction = self.react()
        if reaction == "down":
            return Answer(503)
        self.requests.append(request.json()["events"])
        for event in self.requests[-1]:
            self._process(event)
        if reaction == "silent":
            return Silence()
        return Answer(body={"requestId": f"r{len(self.requests) - 1}"})

    def _process(self, event: dict[str, Any]) -> None:
        key, moment = event["transactionId"], event.get("lastUpdatedTimestamp")
        if self.refuse(event):
            event["refused"] = True
            self.refused_ids.add(key)
            return
        if moment is not None:
            if key not in self.amounts:
                self.faults.append(f"{key}: corrected before it was accepted")
            if moment < self.last.get(key, ""):
                self.faults.append(f"{key}: out of order")
            self.last[key] = moment
            self.corrected[key] += 1
        self.amounts[key] = Decimal(str(event["conversionValue"]))


@pytest.fixture
def google(sending: Sending) -> Iterator[GoogleLedger]:
    sending.platform = change_platform(GOOGLE, token_request=lambda *_: None)
    google = GoogleLedger()
    sending.seconds = 1.0
    with FakePlatform(default=google) as platform:
        sending.urls["google"] = platform.url
        yield google


@dataclass
class Shop:
    sending: Sending
    destination: int

    def sell(self, amount: str, **columns: Any) -> int:
        event = self.sending.event(amount=amount, order_name=f"#{self.sending._number()}", **columns)
        self.sending.delivery(self.destination, event)
        return event

    def refund(self, order: int, amount: str) -> int:
        """Store a refund and queue its corrections, like the pipeline."""
        connection, space_id = self.sending.connection, self.sending.space_id
        row = connection.execute(
            "SELECT contact_id, order_name FROM events WHERE space_id = %s AND id = %s", (space_id, order)
        ).fetchone()
        assert row is not None
        refund = self.sending.rows.event(row[0], order_name=row[1], amount=f"-{amount}")
        orders = corrections.find_orders(connection, space_id, [refund])
        assert set(orders) == {refund, order}
        corrections.queue_corrections(connection, space_id, orders)
        return refund

    def edit(self, event: int, amount: str | None) -> None:
        new = EventChange(amount=None if amount is None else Decimal(amount))
        self._apply(lambda connection: change_event(connection, self.sending.space_id, event, new))

    def delete(self, event: int) -> None:
        self._apply(lambda connection: remove_event(connection, self.sending.space_id, event))

    def _apply(self, work: Callable[[AsyncConnection], Any]) -> None:
        async def run() -> None:
            async with await AsyncConnection.connect(self.sending.database_url) as connection:
                await work(connection)

        asyncio.run(run())

    def settle(self, rounds: int = 1) -> None:
        """Send due deliveries and let Google process them."""
        for _ in range(rounds):
            self.sending.run()
            self.sending.advance(HALF_HOUR)
            self.sending.run()

    def corrections(self, event: int) -> list[tuple[Any, ...]]:
        return self.sending.connection.execute(
            "SELECT number, status, reason, trim_scale(sent_amount) FROM deliveries"
            " WHERE space_id = %s AND event_id = %s AND kind = 'correction' ORDER BY number",
            (self.sending.space_id, event),
        ).fetchall()


@pytest.fixture
def shop(sending: Sending, google: GoogleLedger) -> Shop:  # noqa: ARG001 - the shop sends to it
    return Shop(sending, sending.destination(settings=SETTINGS, event_names=NAMES))


def key(event: int) -> str:
    return f"id-{event}"
