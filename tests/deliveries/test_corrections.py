"""Corrections of what Google has, with a pretend Google that keeps its own ledger."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import pytest
from psycopg import AsyncConnection

from headwater.events.models import EventChange
from headwater.forwarding.deliveries import corrections
from headwater.forwarding.deliveries.changes import change_event, remove_event
from headwater.forwarding.platforms.google import Google
from headwater.forwarding.platforms.microsoft_offline import MicrosoftOffline
from tests.deliveries.staging import Sending
from tests.deliveries.test_taken_back import change
from tests.support.campaigns import campaign_size
from tests.support.destinations import taking
from tests.support.fake_platform import Answer, FakePlatform, Received, Silence, Step

GOOGLE = Google()
SETTINGS = '{"customer_id": "1234567890"}'
NAMES = '{"purchase": "111"}'
HALF_HOUR, DAY = 1801, 86_400
LIVES = campaign_size("HEADWATER_ORDER_LIVES", 40, 10_000)
Result = TypeVar("Result")


@dataclass
class GoogleLedger:
    """Counts what it processes, by transaction; it refuses the sales and corrections it is told to."""

    amounts: dict[str, Decimal] = field(default_factory=dict[str, Decimal])
    requests: list[list[dict[str, Any]]] = field(default_factory=list[list[dict[str, Any]]])
    faults: list[str] = field(default_factory=list[str])
    refuse: Callable[[dict[str, Any]], bool] = lambda _: False
    react: Callable[[], str] = lambda: "accept"
    last: dict[str, str] = field(default_factory=dict[str, str])
    corrected: Counter[str] = field(default_factory=Counter[str])

    def __call__(self, request: Received) -> Step:
        if request.method == "GET":
            number = int(parse_qs(urlsplit(request.target).query)["requestId"][0][1:])
            refused = [place for place, event in enumerate(self.requests[number]) if event.get("refused")]
            errors = [{"reason": "PROCESSING_ERROR_REASON_INVALID_EVENT",
                       "recordCount": str(len(refused)), "recordIndices": refused}]  # fmt: skip
            status = {"destination": {"productDestinationId": "111"},
                      "requestStatus": "PARTIAL_SUCCESS" if refused else "SUCCESS",
                      "errorInfo": {"errorCounts": errors if refused else []}}  # fmt: skip
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
    sending.platform = taking(GOOGLE, token_request=lambda *_: None)
    google = GoogleLedger()
    sending.seconds = 0.3
    with FakePlatform(otherwise=google) as platform:
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
        """As the pipeline stores it."""
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

    def _apply(self, act: Callable[[AsyncConnection], Any]) -> None:
        async def run() -> None:
            async with await AsyncConnection.connect(self.sending.database_url) as connection:
                await act(connection)

        asyncio.run(run())

    def settle(self, rounds: int = 1) -> None:
        """Send, and let Google process."""
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
def shop(sending: Sending, google: GoogleLedger) -> Shop:  # noqa: ARG001 - it answers the shop
    return Shop(sending, sending.destination(settings=SETTINGS, event_names=NAMES))


def key(event: int) -> str:
    return f"id-{event}"


def test_it_works(shop: Shop, google: GoogleLedger) -> None:
    """Two refunds become one correction; a later one follows when it is accepted."""
    order = shop.sell("100")
    shop.settle()
    assert google.amounts == {key(order): 100}
    shop.refund(order, "30")
    shop.refund(order, "50")
    shop.sending.run()
    assert google.amounts == {key(order): 20}
    assert shop.corrections(order) == [(1, "delivered", None, Decimal(20))]
    shop.refund(order, "20")
    shop.sending.run()
    assert google.amounts == {key(order): 20}
    shop.settle()
    assert shop.corrections(order) == [(1, "counted", None, Decimal(20)), (2, "delivered", None, 0)]
    shop.settle(3)
    assert (google.amounts, google.faults) == ({key(order): 0}, [])
    assert [len(events) for events in google.requests] == [1, 1, 1]
    original, corrected, _ = (events[0] for events in google.requests)
    same = ("transactionId", "eventTimestamp", "userData", "eventSource", "currency")
    assert [corrected[name] for name in same] == [original[name] for name in same]
    assert corrected["lastUpdatedTimestamp"] > corrected["eventTimestamp"]


def test_a_change_before_acceptance(shop: Shop, google: GoogleLedger) -> None:
    """Nothing is corrected until Google has counted the sale."""
    order = shop.sell("100")
    shop.refund(order, "10")
    shop.sending.run()
    shop.refund(order, "15")
    assert (google.amounts, shop.corrections(order)) == ({key(order): 100}, [])
    shop.settle(2)
    assert google.amounts == {key(order): 75}


def test_edited_and_cleared(shop: Shop, google: GoogleLedger) -> None:
    order = shop.sell("100")
    shop.settle()
    shop.edit(order, "120.5")
    shop.settle()
    assert google.amounts == {key(order): Decimal("120.5")}
    shop.edit(order, "120.50")
    shop.settle()
    assert len(shop.corrections(order)) == 1
    shop.edit(order, None)
    shop.settle()
    assert google.amounts == {key(order): 0}


def test_a_deleted_refund(shop: Shop, google: GoogleLedger) -> None:
    order = shop.sell("100")
    refund = shop.refund(order, "40")
    shop.settle(2)
    assert google.amounts == {key(order): 60}
    shop.delete(refund)
    shop.settle()
    assert google.amounts == {key(order): 100}


@pytest.mark.parametrize("is_counted", [True, False])
def test_a_deleted_sale(shop: Shop, google: GoogleLedger, is_counted: bool) -> None:
    """Google keeps the conversion, with the value 0. No content of it is stored."""
    order = shop.sell("100", ad_user_data=True)
    (shop.settle if is_counted else shop.sending.run)()
    shop.delete(order)
    shop.settle(2)
    assert google.amounts == {key(order): 0}
    assert shop.corrections(order) == [(1, "counted", None, None)]
    sale, correction = google.requests[0][0], google.requests[1][0]
    assert correction["consent"] == sale["consent"] == {"adUserData": "CONSENT_GRANTED"}
    assert correction["userData"] == sale["userData"]
    stored = shop.sending.connection.execute(
        "SELECT request, answer, error FROM deliveries WHERE space_id = %s", (shop.sending.space_id,)
    ).fetchall()
    assert stored == [(None, None, None)] * 2


def test_a_deleted_sale_of_an_erased_person(shop: Shop, google: GoogleLedger) -> None:
    order = shop.sell("100")
    shop.settle()
    change(shop.sending, "erased", order)
    shop.delete(order)
    shop.settle()
    assert google.amounts == {key(order): 100}
    assert shop.corrections(order) == [(1, "skipped", "erased", None)]


def test_consent_withdrawn_in_between(shop: Shop, google: GoogleLedger) -> None:
    """Without consent, only a click id could be sent, and there is none."""
    order = shop.sell("100")
    shop.settle()
    shop.sending.connection.execute(
        "UPDATE events SET ad_user_data = false WHERE space_id = %s", (shop.sending.space_id,)
    )
    shop.refund(order, "10")
    shop.settle()
    assert google.amounts == {key(order): 100}
    assert shop.corrections(order) == [(1, "skipped", "no_consent", None)]


def test_a_sale_that_was_refused(shop: Shop, google: GoogleLedger) -> None:
    google.refuse = lambda _: True
    order = shop.sell("100")
    shop.settle()
    shop.refund(order, "10")
    shop.settle()
    assert (google.amounts, shop.corrections(order)) == ({}, [])


def test_a_refused_correction(shop: Shop, google: GoogleLedger) -> None:
    """It is not repeated by itself; the next change says everything."""
    order = shop.sell("100")
    shop.settle()
    google.refuse = lambda _: True
    shop.refund(order, "10")
    shop.settle(3)
    assert shop.corrections(order) == [(1, "refused", "invalid_event", Decimal(90))]
    google.refuse = lambda _: False
    shop.refund(order, "5")
    shop.settle()
    assert google.amounts == {key(order): 85}


def test_too_old(shop: Shop, google: GoogleLedger) -> None:
    order = shop.sell("100")
    shop.settle()
    shop.sending.advance(56 * DAY)
    shop.refund(order, "10")
    shop.settle()
    assert google.amounts == {key(order): 100}
    assert shop.corrections(order) == [(1, "skipped", "too_old", None)]


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("settings", '{"customer_id": "9999999999"}', "other_account"),
        ("event_names", '{"purchase": "222"}', None),
        ("event_names", '{"purchase": null}', None),
    ],
)
def test_a_changed_destination(
    shop: Shop, google: GoogleLedger, column: str, value: str, reason: str | None
) -> None:
    """At another account or conversion action it would count as a new conversion."""
    order = shop.sell("100")
    shop.settle()
    shop.sending.connection.execute(
        f"UPDATE destinations SET {column} = %s WHERE space_id = %s", (value, shop.sending.space_id)
    )
    shop.refund(order, "10")
    shop.settle()
    ((_, status, found, _),) = shop.corrections(order)
    assert (status, found) == ("counted" if reason is None else "skipped", reason)
    assert google.amounts == {key(order): 90 if reason is None else 100}
    assert all(event.get("destinationReferences") is None for events in google.requests for event in events)


def test_a_sale_sent_again(shop: Shop, google: GoogleLedger) -> None:
    """A replay overwrites the correction, so it is followed by another."""
    order = shop.sell("100")
    shop.settle()
    shop.refund(order, "10")
    shop.settle()
    shop.sending.connection.execute(
        "UPDATE deliveries SET status = 'queued', queued_at = to_timestamp(%s), due_at = to_timestamp(%s),"
        " finished_at = NULL, platform_request_id = NULL WHERE space_id = %s AND kind = 'conversion'",
        (shop.sending.clock.at, shop.sending.clock.at, shop.sending.space_id),
    )
    shop.sending.run()
    assert google.amounts == {key(order): 100}
    shop.settle(2)
    assert google.amounts == {key(order): 90}


def test_microsoft(sending: Sending) -> None:
    """It takes corrections in calls of their own, as soon as it has accepted the conversion."""
    sending.platform = taking(MicrosoftOffline(), token_request=lambda *_: None)
    with FakePlatform(otherwise=Answer(body={"PartialErrors": []})) as microsoft:
        sending.urls["microsoft_offline"] = microsoft.url
        settings = '{"customer_id": "1", "account_id": "2"}'
        shop = Shop(sending, sending.destination(settings=settings, event_names='{"purchase": "Sale"}'))
        orders = [shop.sell(amount) for amount in ("100", "50")]
        sending.run()
        shop.refund(orders[0], "30")
        shop.delete(orders[1])
        orders.append(shop.sell("9"))
        sending.advance(HALF_HOUR)
        sending.run()
        assert [row[1:] for order in orders for row in shop.corrections(order)] == [
            ("delivered", None, Decimal(70)), ("delivered", None, None),
        ]  # fmt: skip
        first, *others = microsoft.bodies
    conversions = first["OfflineConversions"]
    changes = [body for body in others if "OfflineConversionAdjustments" in body]
    assert sorted(map(len, others)) == [1, 1]
    assert len(changes) == 1
    named = ("ConversionName", "ConversionTime", "HashedEmailAddress")
    adjustments = changes[0]["OfflineConversionAdjustments"]
    for conversion, adjustment in zip(conversions, adjustments, strict=True):
        assert [adjustment[name] for name in named] == [conversion[name] for name in named]
    assert [(entry["AdjustmentType"], entry.get("AdjustmentValue")) for entry in adjustments] == [
        ("Restate", 70), ("Retract", None),
    ]  # fmt: skip


def test_many_lives_of_orders(shop: Shop, google: GoogleLedger) -> None:
    """Sales, refunds, edits, deletions, erasures, merges, outages and lost answers: Google ends with our
    amounts, was never told of a sale that it had not accepted, and learned of changes in order.
    """
    draw = random.Random(LIVES)
    google.refuse = lambda event: "lastUpdatedTimestamp" not in event and _hash(event) % 10 == 0
    google.react = lambda: draw.choices(["accept", "down", "silent"], [12, 1, 1])[0]
    lives = Lives(shop, draw)
    for _ in range(max(1, LIVES // 40)):
        new = lives.sell(40)
        for _ in range(6):
            for order in draw.sample(new, 10):
                lives.change(order)
            if draw.random() < 0.7:
                shop.sending.run()
                shop.sending.advance(draw.choice([60, HALF_HOUR, 7300]))
    google.react = lambda: "accept"
    for _ in range(8):
        shop.settle()
        shop.sending.advance(7300)
    assert google.faults == []
    assert len(google.corrected) > len(lives.people) / 4
    lives.check(google)


def _hash(event: dict[str, Any]) -> int:
    return int(event["transactionId"].removeprefix("id-")) * 7919 % 101


@dataclass
class Lives:
    """Orders, and what became of them."""

    shop: Shop
    draw: random.Random
    people: dict[int, int] = field(default_factory=dict[int, int])
    """Of each order, as a contact."""
    deleted: set[int] = field(default_factory=set[int])
    erased: set[int] = field(default_factory=set[int])

    def sell(self, count: int) -> list[int]:
        orders = [self.shop.sell(self._amount(10, 99)) for _ in range(count)]
        query = "SELECT id, contact_id FROM events WHERE space_id = %(space)s AND id = ANY(%(ids)s)"
        self.people.update(self._run(query, ids=orders))
        return orders

    def change(self, order: int) -> None:
        """One change, if the order is still there."""
        if order in self.deleted | self.erased:
            return
        match self.draw.choices(["refund", "edit", "delete", "erase", "merge"], [8, 4, 1, 1, 1])[0]:
            case "refund":
                self.shop.refund(order, self._amount(1, 9))
            case "edit":
                self.shop.edit(order, self._amount(10, 99))
            case "delete":
                self.shop.delete(order)
                self.deleted.add(order)
            case "erase":
                change(self.shop.sending, "erased", order)
                self.erased |= {other for other in self.people if self.people[other] == self.people[order]}
            case _:
                self._merge(self.people[order], self.draw.choice([*self.people.values()]))

    def _merge(self, one: int, other: int) -> None:
        person, survivor = max(one, other), min(one, other)
        erased = {self.people[order] for order in self.erased}
        if person == survivor or erased & {person, survivor}:
            return
        values = {"into": survivor, "id": person}
        self._run("UPDATE contacts SET merged_into = %(into)s WHERE space_id = %(space)s"
                  " AND %(id)s IN (id, merged_into)", **values)  # fmt: skip
        self._run("UPDATE events SET contact_id = %(into)s, origin_id = coalesce(origin_id, contact_id)"
                  " WHERE space_id = %(space)s AND contact_id = %(id)s", **values)  # fmt: skip
        self.people.update({order: survivor for order, known in self.people.items() if known == person})

    def check(self, google: GoogleLedger) -> None:
        """Everything that Google accepted has our amount, except of erased people."""
        worth = dict.fromkeys(map(key, self.deleted), Decimal(0)) | {
            key(order): amount
            for order, amount in self._run("""
                SELECT o.id, greatest(o.amount + coalesce((
                           SELECT sum(r.amount) FROM events r WHERE r.space_id = o.space_id AND r.amount < 0
                             AND r.order_name = o.order_name), 0), 0)
                FROM events o WHERE o.space_id = %(space)s AND o.amount >= 0""")
        }  # fmt: skip
        erased = {key(order) for order in self.erased}
        refused = {event["transactionId"] for events in google.requests for event in events
                   if event.get("refused")}  # fmt: skip
        unsent = {key(order) for order in self.deleted} | erased | refused
        assert {name for name in worth if name not in google.amounts} <= unsent
        held = {name: amount for name, amount in google.amounts.items() if name not in erased}
        assert held == {name: worth[name] for name in held}

    def _amount(self, low: int, high: int) -> str:
        return str(Decimal(self.draw.randrange(low * 100, high * 100)) / 100)

    def _run(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        cursor = self.shop.sending.connection.execute(query, {"space": self.shop.sending.space_id, **values})
        return cursor.fetchall() if cursor.description else []
