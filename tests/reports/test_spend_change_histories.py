"""Changes of spend over random histories, against plain lists and against what reports said then.

`HEADWATER_CHANGE_HISTORIES=10000` makes it a long run; `HEADWATER_FIRST_HISTORY` begins it with
another history.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from random import Random
from typing import Any

from headwater.reports.spend_change_answer import SUMS
from headwater.spend.models import FIGURES, LEVELS
from tests.models import spend_model
from tests.reports.test_spend_changes import changes, delete, put, report, shop, spent
from tests.support.pipeline import DAY, T0, Stage, event, touch
from tests.support.reading_fixtures import Api

HISTORIES = int(os.environ.get("HEADWATER_CHANGE_HISTORIES", "5"))
FIRST = int(os.environ.get("HEADWATER_FIRST_HISTORY", "0"))
__all__ = ["shop"]


@dataclass
class Book:
    """The things that happen to a Space, with the reports after each and what plain lists say."""

    api: Api
    shop: Stage
    dice: Random
    group: str
    ledger: dict[tuple[Any, ...], tuple[int, ...]] = field(
        default_factory=dict[tuple[Any, ...], tuple[int, ...]]
    )
    reports: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    moves: list[dict[str, list[int]]] = field(default_factory=list[dict[str, list[int]]])
    """For each thing, by cause, what the lists say that it moved of the ledger's figures."""

    def look(self) -> None:
        self.reports.append(report(self.api, group_by=self.group, limit=1000))

    def act(self) -> None:
        """Do something, and look."""
        self.moves.append({})
        self.dice.choice((self.put, self.put, self.put, self.delete, self.sell, self.rate))()
        self.look()

    def put(self) -> None:
        rows = {_key(row): row for row in (_some_row(self.dice) for _ in range(1, 7))}
        put(self.api, *rows.values())
        new = {key: _plain_figures(row) for key, row in rows.items()}
        known = {key: figures for key, figures in new.items() if key in self.ledger}
        self._change("spend_replacements", {**self.ledger, **known})
        self._change("spend_imports", {**self.ledger, **new})

    def delete(self) -> None:
        day, platform = self.dice.randrange(7, 10), self.dice.choice(("google", "meta"))
        delete(self.api, day, platform=platform)
        gone = (date(2025, 10, day), platform)
        kept = {key: figures for key, figures in self.ledger.items() if key[:2] != gone}
        self._change("spend_deletions", kept)

    def sell(self) -> None:
        who = {"email": f"{self.dice.choice('abc')}@example.com"}
        at = T0 - self.dice.randrange(60) * DAY // 4
        click = touch(**who, occurred_at=at - DAY, campaign_id=self.dice.choice(("1", "2")))
        self.shop.run(click, event(**who, amount=f"{self.dice.randrange(1, 99)}", event_time=at))

    def rate(self) -> None:
        day = f"2025-10-{self.dice.randrange(7, 10):02}"
        worth = {"base": "USD", "currency": "EUR", "rate": self.dice.randrange(5_000, 20_000) / 1e4}
        self.api.send("PUT", "/rates", json={"rates": [{**worth, "date": day}]})

    def _change(self, cause: str, ledger: dict[tuple[Any, ...], tuple[int, ...]]) -> None:
        before, after = (_totals(each) for each in (self.ledger, ledger))
        self.moves[-1][cause] = [new - old for new, old in zip(after, before, strict=True)]
        self.ledger = ledger


def _totals(ledger: dict[tuple[Any, ...], tuple[int, ...]]) -> list[int]:
    rows = [(*key, figures) for key, figures in ledger.items()]
    return [spend_model.spent(rows, figure) for figure in range(len(FIGURES))]


def _some_row(dice: Random) -> dict[str, Any]:
    return spent(
        dice.randrange(7, 10), f"{dice.randrange(10**8) / 10 ** dice.randrange(2, 7):f}",
        dice.choice(("google", "google", "meta", "billboard")),
        currency=dice.choice(("EUR", "EUR", "USD")), country=dice.choice((None, None, "DE")),
        impressions=dice.choice((None, dice.randrange(1000))), clicks=dice.randrange(9),
        **{name: dice.choice(("1", "2")) for name in LEVELS[: dice.randrange(5)]},
    )  # fmt: skip


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    ids = (row.get(name) or "" for name in LEVELS)
    place = (date.fromisoformat(row["date"]), row["platform"], row["currency"])
    return (*place, *ids, row["country"] or "")


def _plain_figures(row: dict[str, Any]) -> tuple[int, ...]:
    return (int(Decimal(row["amount"]) * 10**6), row["impressions"] or 0, row["clicks"], 0, 0)


def wrong(answer: dict[str, Any], first: dict[str, Any], last: dict[str, Any]) -> list[str]:
    """What of an answer is not what the reports of then said, or is not the sum of its causes."""
    pairs = [("totals", answer["totals"], first["totals"], last["totals"])]
    pairs += [("unmatched", answer["unmatched"], first["unmatched"], last["unmatched"])]
    start, end = ({row[0]: _named(each, row) for row in each["rows"]} for each in (first, last))
    nothing = dict.fromkeys(last["totals"], Decimal(0)) | dict.fromkeys(("roas", "cpa", "cac"))
    nothing["contribution"] = None
    listed = {row[last["columns"][0]]: row for row in answer["rows"]}
    for key in {*start, *end, *listed}:
        sides = start.get(key, nothing), end.get(key, nothing)
        if key in listed:
            pairs.append((f"{key}", listed[key], *sides))
        elif sides[0] != sides[1]:
            pairs.append((f"{key} is missing", answer["totals"], *sides))
    faults: list[str] = []
    for name, change, before, after in pairs:
        faults += [f"{name} before"] * (change["before"] != before)
        faults += [f"{name} after"] * (change["after"] != after)
        for each in SUMS:
            parts = sum((cause[each] or 0) for cause in change["causes"].values())
            difference = (after[each] or 0) - (before[each] or 0)
            faults += [f"{name} {each}"] * (round(difference - parts, 9) != 0)
    return faults


def _named(of: dict[str, Any], row: list[Any]) -> dict[str, Any]:
    return dict(zip(of["columns"][2:], row[2:], strict=True))


def judge(api: Api, shop: Stage, number: int) -> None:
    """Carry a history out and compare some of its readings."""
    dice = Random(number)
    book = Book(api, shop, dice, dice.choice(("source", "campaign", "ad", "day", "week", "month")))
    for day in range(7, 10):
        rate = {"date": f"2025-10-{day:02}", "base": "USD", "currency": "EUR", "rate": 0.5}
        api.send("PUT", "/rates", json={"rates": [rate]})
    book.look()
    for _ in range(dice.randrange(3, 7)):
        book.act()
    for _ in range(3):
        first, last = sorted(dice.sample(range(len(book.reports)), 2))
        since, until = (book.reports[place]["reading"] for place in (first, last))
        answer = changes(api, since, until=until, group_by=book.group, limit=1000)
        faults = wrong(answer, book.reports[first], book.reports[last])
        for cause in ("spend_imports", "spend_replacements", "spend_deletions"):
            told = answer["totals"]["causes"].get(cause, {"impressions": 0, "clicks": 0})
            for place, name in ((1, "impressions"), (2, "clicks")):
                right = sum(each[cause][place] for each in book.moves[first:last] if cause in each)
                faults += [f"{cause} {name}: {told[name]} is not {right}"] * (told[name] != right)
        assert faults == [], (number, first, last, book.group)


def test_random_histories_are_explained(api: Api, shop: Stage) -> None:
    """Both readings are what the reports said then, every difference is the sum of its causes, and
    what each cause has moved of counts is what plain lists say.
    """
    for number in range(FIRST, FIRST + HISTORIES):
        for table in ("spend", "former_spend"):
            shop.connection.execute(f"DELETE FROM {table} WHERE space_id = %s", (shop.space_id,))
        judge(api, shop, number)
