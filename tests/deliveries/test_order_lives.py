"""Random order histories: platforms end up with our amounts."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from headwater.forwarding.deliveries import eligibility
from tests.deliveries.google_ledger import DAY, HALF_HOUR, GoogleLedger, Shop, key
from tests.deliveries.google_ledger import google as google  # noqa: PLC0414 # a fixture
from tests.deliveries.google_ledger import shop as shop  # noqa: PLC0414 # a fixture
from tests.deliveries.microsoft_ledger import open_microsoft
from tests.deliveries.staging import Sending
from tests.deliveries.test_taken_back import change
from tests.support.campaigns import campaign_size

LIVES = campaign_size("HEADWATER_ORDER_LIVES", 40, 10_000)


@pytest.fixture(autouse=True)
def _no_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry without a time limit: the database's clock, which queues deliveries, is far behind the test
    clock.
    """
    monkeypatch.setattr(eligibility, "RETRY_SECONDS", 3.2e7)


def test_many_lives_of_orders(shop: Shop, google: GoogleLedger) -> None:
    """Sales, refunds, edits, deletions, erasures, merges, outages, lost and late answers, killed forwarders.
    Google ends up with our amounts, is never sent a correction of a sale that it hasn't accepted, and gets
    changes in order.
    """
    live(shop, google, random.Random(LIVES))


def test_many_lives_at_microsoft(sending: Sending) -> None:
    with open_microsoft(sending) as (shop, microsoft):
        live(shop, microsoft, random.Random(LIVES))


def live(shop: Shop, ledger: GoogleLedger, draw: random.Random) -> None:
    ledger.refuse = lambda event: "lastUpdatedTimestamp" not in event and _hash(event) % 10 == 0
    ledger.react = lambda: draw.choices(["accept", "down", "silent"], [12, 1, 2])[0]
    lives = Lives(shop, draw)
    for _ in range(max(1, LIVES // 40)):
        new = lives.sell(40)
        for _ in range(6):
            for order in draw.sample(new, 10):
                lives.change(order)
            ledger.is_deciding = draw.random() < 0.7
            if draw.random() < 0.7:
                if draw.random() < 0.3:
                    shop.sending.run_until_killed(draw.randrange(8))
                else:
                    shop.sending.run()
                shop.sending.advance(draw.choice([60, HALF_HOUR, 7300]))
    ledger.react, ledger.is_deciding = lambda: "accept", True
    for _ in range(8):
        shop.settle()
        shop.sending.advance(DAY)
    assert ledger.faults == []
    assert len(ledger.corrected) > len(lives.people) / 4
    lives.check(ledger)


def _hash(event: dict[str, Any]) -> int:
    return int(event["transactionId"].removeprefix("id-")) * 7919 % 101


@dataclass
class Lives:
    """Orders and their changes."""

    shop: Shop
    draw: random.Random
    people: dict[int, int] = field(default_factory=dict[int, int])
    """The contact of each order."""
    prices: dict[int, str] = field(default_factory=dict[int, str])
    """The selling price of each order."""
    deleted: set[int] = field(default_factory=set[int])
    erased: set[int] = field(default_factory=set[int])

    def sell(self, count: int) -> list[int]:
        prices = [self._amount(10, 99) for _ in range(count)]
        orders = [self.shop.sell(price) for price in prices]
        self.prices.update(zip(orders, prices, strict=True))
        query = "SELECT id, contact_id FROM events WHERE space_id = %(space)s AND id = ANY(%(ids)s)"
        self.people.update(self._run(query, ids=orders))
        return orders

    def change(self, order: int) -> None:
        """Change the order once, unless it was deleted or erased."""
        if order in self.deleted | self.erased:
            return
        match self.draw.choices(["refund", "edit", "delete", "erase", "merge"], [8, 4, 1, 1, 3])[0]:
            case "refund":
                self.shop.refund(order, self._amount(1, 9))
            case "edit":
                # Half of the edits restore the amount that the platform may have been sent first.
                self.shop.edit(order, self.draw.choice([self.prices[order], self._amount(10, 99)]))
            case "delete":
                self.shop.delete(order)
                self.deleted.add(order)
            case "erase":
                change(self.shop.sending, "erased", order)
                self.erased |= {
                    other_order
                    for other_order in self.people
                    if self.people[other_order] == self.people[order]
                }
            case _:
                self._merge(self.people[order], self.draw.choice([*self.people.values()]))

    def _merge(self, contact: int, other_contact: int) -> None:
        person, survivor = max(contact, other_contact), min(contact, other_contact)
        erased_people = {self.people[order] for order in self.erased}
        if person == survivor or erased_people & {person, survivor}:
            return
        values = {"into": survivor, "id": person}
        self._run("UPDATE contacts SET merged_into = %(into)s WHERE space_id = %(space)s"
                  " AND %(id)s IN (id, merged_into)", **values)  # fmt: skip
        self._run("UPDATE events SET contact_id = %(into)s, origin_id = coalesce(origin_id, contact_id)"
                  " WHERE space_id = %(space)s AND contact_id = %(id)s", **values)  # fmt: skip
        self._run("UPDATE touchpoints SET contact_id = %(into)s, origin_id = coalesce(origin_id, contact_id)"
                  " WHERE space_id = %(space)s AND contact_id = %(id)s", **values)  # fmt: skip
        self.people.update({order: survivor for order, owner in self.people.items() if owner == person})

    def check(self, ledger: GoogleLedger) -> None:
        """Check that everything the platform accepted has our amount, except for erased people."""
        worth = dict.fromkeys(map(key, self.deleted), Decimal(0)) | {
            key(order): amount
            for order, amount in self._run("""
                SELECT o.id, greatest(o.amount + coalesce((
                           SELECT sum(r.amount) FROM events r WHERE r.space_id = o.space_id AND r.amount < 0
                             AND r.order_name = o.order_name), 0), 0)
                FROM events o WHERE o.space_id = %(space)s AND o.amount >= 0""")
        }  # fmt: skip
        erased_names = {key(order) for order in self.erased}
        unsent = {key(order) for order in self.deleted} | erased_names | ledger.refused_ids
        assert {name for name in worth if name not in ledger.amounts} <= unsent
        # An order deleted after an attempt without a known answer isn't corrected.
        skipped_names = {
            name
            for (name,) in self._run(
                "SELECT dedup_id FROM deliveries WHERE space_id = %(space)s AND kind = 'conversion'"
                " AND status = 'skipped'"
            )
        }
        unknown = (skipped_names & ledger.amounts.keys()) - erased_names
        assert len(unknown) < len(worth) / 50 + 3
        amounts = {
            name: amount for name, amount in ledger.amounts.items() if name not in erased_names | unknown
        }
        assert amounts == {name: worth[name] for name in amounts}

    def _amount(self, low: int, high: int) -> str:
        return str(Decimal(self.draw.randrange(low * 100, high * 100)) / 100)

    def _run(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        cursor = self.shop.sending.connection.execute(query, {"space": self.shop.sending.space_id, **values})
        return cursor.fetchall() if cursor.description else []
