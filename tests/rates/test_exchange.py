"""Converting an amount: exact, half to the even hundredth, and nothing beyond the limit of sums."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from headwater.spend.rates.counted_amounts import MAX_AMOUNT, MAX_PAGE_AMOUNT, AmountRule, LeftOutReason
from headwater.spend.rates.exchange import RateTable, convert

DAY = date(2026, 5, 13)
RATES = st.fractions(Fraction(1, 10**6), 10**6, max_denominator=10**6)


def table(rate: Fraction) -> RateTable:
    return RateTable(space_rates={DAY: {("USD", "EUR"): rate}})


def rule(rate: Fraction, currency: str = "USD") -> AmountRule:
    return AmountRule.for_day(table(rate), DAY, currency, "EUR", "EUR")


def test_it_works() -> None:
    rate = Fraction(4, 5)
    assert rule(rate).count(1_000_000, from_page=False) == 800_000
    assert rule(rate, "EUR").count(1_234_567, from_page=False) == 1_234_567
    assert rule(rate, "XAF").count(1_000_000, from_page=False) is LeftOutReason.NO_RATE


@given(st.integers(-(10**18), 10**18), RATES, st.sampled_from([1, 100, 10_000]))
def test_it_rounds_as_fractions_do(amount: int, rate: Fraction, step: int) -> None:
    assert convert(amount, rate, step) == step * round(amount * rate / step)


@given(st.integers(-10_000, 10_000))
def test_halves_go_to_the_even_one(number: int) -> None:
    assert convert(number * 100, Fraction(1, 2), 100) == 100 * round(Fraction(number, 2))


@given(st.integers(-3 * MAX_AMOUNT, 3 * MAX_AMOUNT), RATES)
@example(MAX_PAGE_AMOUNT, Fraction(1))
@example(-MAX_AMOUNT, Fraction(1))
def test_sums_leave_out_what_is_too_large(amount: int, rate: Fraction) -> None:
    for from_page, largest in ((False, MAX_AMOUNT), (True, MAX_PAGE_AMOUNT)):
        counted_amount = rule(rate).count(amount, from_page=from_page)
        exact = convert(amount, rate, 100)
        assert counted_amount == exact if abs(exact) <= largest else isinstance(counted_amount, LeftOutReason)
