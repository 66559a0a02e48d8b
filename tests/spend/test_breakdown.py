"""Rows of several levels on one day: every cent counts once, and the rest is shown as not broken down."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest

from headwater.spend import breakdown
from headwater.spend.breakdown import LedgerRow, SpendPart, break_down
from tests.models import spend_model
from tests.support.campaigns import campaign_size

DAY = date(2026, 5, 13)
LEDGERS = campaign_size("HEADWATER_LEDGERS", 300, 10000)


def row(amount: int, *path: str, country: str = "", day: date = DAY) -> LedgerRow:
    return LedgerRow(day, "meta", "EUR", path, country, (amount, 0, 0, 0, 0))


def break_down_rows(*rows: LedgerRow) -> list[tuple[tuple[str, ...], str, int, bool]]:
    pieces = break_down(rows)
    return sorted((p.row.path, p.row.country, p.row.figures[0], p.is_remainder) for p in pieces)


def test_it_works() -> None:
    """An account of 100; campaigns of 60 and 30; in the first one, ads of 25 and 20."""
    assert break_down_rows(
        row(100, "a"), row(60, "a", "1"), row(30, "a", "2"),
        row(25, "a", "1", "s", "x"), row(20, "a", "1", "s", "y"),
    ) == [
        (("a",), "", 10, True), (("a", "1"), "", 15, True), (("a", "1", "s", "x"), "", 25, False),
        (("a", "1", "s", "y"), "", 20, False), (("a", "2"), "", 30, False),
    ]  # fmt: skip


def test_finer_rows_that_are_more_than_the_coarser_one_count() -> None:
    assert break_down_rows(row(50, "a"), row(60, "a", "1")) == [(("a", "1"), "", 60, False)]


def test_countries_are_one_breakdown_and_ids_the_other() -> None:
    by_country = [row(20, "a", country="DE"), row(30, "a", country="FR")]
    assert break_down_rows(row(60, "a"), *by_country) == [
        (("a",), "", 10, True), (("a",), "DE", 20, False), (("a",), "FR", 30, False),
    ]  # fmt: skip
    assert break_down_rows(row(45, "a", "1"), *by_country) == [
        (("a",), "", 5, True), (("a", "1"), "", 45, False),
    ]  # fmt: skip


def test_a_campaign_without_its_account_is_the_same_campaign() -> None:
    assert break_down_rows(row(9, "", "1"), row(9, "a", "1"), row(5, "", "2")) == [
        (("", "2"), "", 5, False), (("a", "1"), "", 9, False),
    ]  # fmt: skip


def test_ads_without_an_ad_set_are_below_their_campaign() -> None:
    ads = [row(25, "a", "1", "", "x"), row(20, "a", "1", "", "y")]
    assert break_down_rows(row(60, "a", "1"), *ads) == [
        (("a", "1"), "", 15, True), (("a", "1", "", "x"), "", 25, False),
        (("a", "1", "", "y"), "", 20, False),
    ]  # fmt: skip
    assert break_down_rows(*ads, row(7, "a", "1", "s", "z"))[-1] == (
        ("a", "1", "s", "z"), "", 7, False,
    )  # fmt: skip


def test_an_ad_is_the_same_ad_with_and_without_its_ad_set() -> None:
    assert break_down_rows(row(25, "a", "1", "", "x"), row(25, "a", "1", "s", "x")) == [
        (("a", "1", "s", "x"), "", 25, False)
    ]


def test_ad_sets_and_ads_without_them_are_the_same_money() -> None:
    """The ads count as the finer report; the excess of the ad sets is left over."""
    ads = [row(25, "a", "1", "", "x"), row(20, "a", "1", "", "y")]
    sets = [row(30, "a", "1", "s"), row(20, "a", "1", "t")]
    assert break_down_rows(*ads, *sets) == [
        (("a", "1"), "", 5, True), (("a", "1", "", "x"), "", 25, False),
        (("a", "1", "", "y"), "", 20, False),
    ]  # fmt: skip


def test_days_platforms_and_currencies_are_apart() -> None:
    rows = [row(5), row(5, day=date(2026, 5, 14)), row(5)._replace(currency="USD")]
    assert len(list(break_down([*rows, row(5)._replace(platform="x")]))) == 4


def test_random_ledgers_equal_the_model() -> None:
    """They are equal to the millionth, in every figure, for any order of the rows."""
    for seed in range(LEDGERS):
        rng = random.Random(seed)
        rows = random_rows(rng)
        plain = [(*r[:3], *pad_path(r.path), r.country, r.figures) for r in rows]
        pieces = list(break_down(rows))
        for figure in range(5):
            assert total(pieces, figure) == spend_model.total_spend(plain, figure), seed
        assert all(min(spend_part.row.figures) >= 0 for spend_part in pieces)
        rng.shuffle(rows)
        assert sorted(break_down(rows)) == sorted(pieces), seed


def test_days_without_totals_need_no_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their rows are their parts, as the tree says too."""
    ledgers = [random_rows(random.Random(seed)) for seed in range(LEDGERS)]
    ledgers += [
        [row(1, "a", "1", "s", f"{ad}", country=country) for ad in range(9)] for country in ("", "DE")
    ]
    pieces = [sorted(break_down(rows)) for rows in ledgers]
    monkeypatch.setattr(breakdown, "_is_disjoint", lambda _: False)
    assert [sorted(break_down(rows)) for rows in ledgers] == pieces
    monkeypatch.undo()
    monkeypatch.delattr(breakdown, "_add_parts")
    assert [len(list(break_down(rows))) for rows in ledgers[-2:]] == [9, 9]


def total(parts: Sequence[SpendPart], figure: int) -> int:
    return sum(spend_part.row.figures[figure] for spend_part in parts)


def pad_path(path: tuple[str, ...]) -> list[str]:
    return [*path, *[""] * (4 - len(path))]


def random_rows(rng: random.Random) -> list[LedgerRow]:
    rows: dict[Any, LedgerRow] = {}
    for _ in range(rng.randrange(1, 14)):
        depth = rng.randrange(5)
        path = tuple(rng.choice(["1", "2"]) for _ in range(depth))
        if path and rng.random() < 0.3:
            path = ("", *path[1:]) if depth > 1 else ()
        new_row = LedgerRow(
            date(2026, 5, rng.choice([1, 2])), rng.choice(["meta", "x"]),
            rng.choice(["EUR", "USD"]), path, rng.choice(["", "", "DE", "FR"]),
            tuple(rng.randrange(0, 4) * 10 ** rng.randrange(8) for _ in range(5)),
        )  # fmt: skip
        rows[new_row[:5]] = new_row
    return list(rows.values())
