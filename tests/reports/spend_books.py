"""Random changes of a Space's spend, sales and rates, and the moments between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from fractions import Fraction
from random import Random
from typing import Any

import msgspec

from tests.reports import spend_worlds
from tests.reports.spend_court import find_faults
from tests.reports.spend_worlds import World, name_key, plain_figures, some_row, written_rates
from tests.support.former_networks import put_spend
from tests.support.pipeline import Stage as Pipeline
from tests.support.pipeline import event, touch
from tests.support.reading_fixtures import Api
from tests.support.report_model.spend import Spending

FIRST_DAY = spend_worlds.FIRST
DAYS = 4
"""The days of the ledger; few, so that its rows collide."""
NOON = 1_777_636_800_000
"""Noon of the ledger's first day, in ms since 1970."""
OLD = "2026-07-01T00:{:02}:00Z"
"""The time of older exports; later in the history means a later time."""

Ledger = dict[tuple[Any, ...], tuple[int, ...]]


@dataclass
class Moment:
    """A Space right after a change."""

    snapshot: str
    spending: Spending


@dataclass
class Book:
    """A Space's changes, with the moments between them and the effect of each change on the ledger."""

    api: Api
    world: World
    shop: Pipeline
    dice: Random
    parameters: dict[str, Any]
    moments: list[Moment] = field(default_factory=list[Moment])
    moves: list[list[tuple[str, Ledger, Ledger]]] = field(
        default_factory=list[list[tuple[str, Ledger, Ledger]]]
    )
    """For each change, by cause, the ledger before and after it."""
    current: set[tuple[Any, ...]] = field(default_factory=set[tuple[Any, ...]])
    """The keys of rows that no older export replaces."""

    def record_moment(self) -> list[str]:
        """Record a moment, and return the report's faults. If a rate is missing, the snapshot comes from a
        report that needs none.
        """
        spending = self.world.spending("EUR")
        answer = get(self.api, "/reports/spend", self.parameters)
        faults = find_faults(answer, spending, self.parameters)
        if "snapshot" not in answer:
            without_money = {"measures": "new_customers", **self.parameters}
            answer = get(self.api, "/reports", {**without_money, "group_by": "none"})
        self.moments.append(Moment(answer["snapshot"], spending))
        return faults

    def act(self) -> None:
        """Make a random change."""
        self.moves.append([])
        self.dice.choice((
            self.put, self.put, self.put, self.put_older_rows, self.delete, self.delete, self.sell,
            self.sell, self.rate, self.rate, self.edit, self.rate_all,
        ))()  # fmt: skip

    def put(self, **parameters: Any) -> None:
        rows = {name_key(row): row for row in (some_row(self.dice, DAYS) for _ in range(1, 7))}
        if self.dice.random() < 0.3:
            rows |= {key: self._repeat_row(key) for key in self.dice.sample([*self.world.ledger], min(
                2, len(self.world.ledger)))}  # fmt: skip
        response = put_spend(self.api, [*rows.values()], **parameters)
        assert response.status_code == 200, response.text
        before = self.world.ledger
        new = {
            key: plain_figures(row) for key, row in rows.items() if not parameters or key not in self.current
        }
        self.current |= {*new} if not parameters else set()
        replacements = {key: figures for key, figures in new.items() if key in before}
        self._change("spend_replacements", {**before, **replacements})
        self._change("spend_imports", {**before, **new})

    def _repeat_row(self, key: tuple[Any, ...]) -> dict[str, Any]:
        """Return a row with an existing key and new figures."""
        day, platform, currency, account, campaign, adset, ad, country = key
        return {
            **some_row(self.dice, DAYS), "date": f"{day}", "platform": platform,
            "currency": currency, "account_id": account, "campaign_id": campaign,
            "adset_id": adset, "ad_id": ad, "country": country,
        }  # fmt: skip

    def put_older_rows(self) -> None:
        self.put(as_of=OLD.format(len(self.moves)))

    def delete(self) -> None:
        first = FIRST_DAY + timedelta(days=self.dice.randrange(DAYS))
        last = first + timedelta(days=self.dice.choice((0, 0, 1)))
        key_index, (name, values) = self.dice.choice((
            (1, ("platform", ("google", "meta"))), (2, ("currency", ("EUR", "USD"))),
            (3, ("account_id", ("1", "2"))), (4, ("campaign_id", ("1", "2"))),
        ))  # fmt: skip
        value = self.dice.choice(values)
        days = {"start_date": f"{first}", "end_date": f"{last}"}
        self._send("DELETE", "/spend", params={**days, name: value})
        remaining_rows = {
            key: figures
            for key, figures in self.world.ledger.items()
            if not (first <= key[0] <= last and key[key_index] == value)
        }
        self.current &= {*remaining_rows}
        self._change("spend_deletions", remaining_rows)

    def sell(self) -> None:
        who = {"email": f"{self.dice.choice('abcd')}@example.com"}
        order_time = NOON + self.dice.choice((-40, *range(-4, 10))) * 43_200_000
        click = touch(
            **who,
            occurred_at=order_time - 43_200_000,
            source=self.dice.choice(("google_ads", "email")),
            **self.dice.choice(({"campaign_id": "1"}, {"campaign_name": "Spring"}, {})),
        )
        currency = self.dice.choice((None, "EUR", "USD", "JPY"))
        amount = f"{self.dice.randrange(-20, 99)}"
        self.shop.run(click, event(**who, amount=amount, event_time=order_time, currency=currency))

    def edit(self) -> None:
        """Change the amount of a sale, or delete it."""
        ids = self.shop.values("events", "id")
        if ids and self.dice.random() < 0.5:
            self._send("DELETE", f"/events/{self.dice.choice(ids)}")
        elif ids:
            path = f"/events/{self.dice.choice(ids)}"
            self._send("PUT", path, json={"amount": self.dice.randrange(99)})

    def rate(self) -> None:
        day = FIRST_DAY + timedelta(days=self.dice.randrange(-8, DAYS))
        pair = self.dice.choice((("USD", "EUR"), ("JPY", "EUR"), ("EUR", "JPY"), ("USD", "JPY")))
        self.put_rates({(day, *pair): Fraction(self.dice.randrange(5_000, 20_000), 10_000)})

    def rate_all(self) -> None:
        """Store rates that cover every day."""
        self.put_rates({
            (FIRST_DAY + timedelta(days=offset), "EUR", currency): Fraction(5, 4)
            for offset in range(-40, DAYS + 10, 5) for currency in ("USD", "JPY")
        })  # fmt: skip

    def put_rates(self, rates: dict[tuple[date, str, str], Fraction]) -> None:
        self._send("PUT", "/rates", json={"rates": written_rates(rates)})
        self.world.rates |= rates

    def _send(self, method: str, path: str, **options: Any) -> None:
        response = self.api.send(method, path, **options)
        assert response.status_code == 200, response.text

    def _change(self, cause: str, ledger: Ledger) -> None:
        self.moves[-1].append((cause, self.world.ledger, ledger))
        self.world.ledger = ledger


def get(api: Api, path: str, params: dict[str, Any]) -> dict[str, Any]:
    return msgspec.json.decode(api.get(path, params=params).content)
