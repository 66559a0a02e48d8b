"""Converting an amount: exact, half to the even hundredth, and nothing beyond what sums count."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from headwater.rates.exchange import MAX_COUNTED, MAX_COUNTED_OF_PAGES, RateTable, converted

DAY = date(2026, 5, 13)
RATES = st.fractions(Fraction(1, 10**6), 10**6, max_denominator=10**6)


def table(rate: Fraction) -> RateTable:
    return RateTable(own={DAY: {("USD", "EUR"): rate}})


def test_it_works() -> None:
    dollars = table(Fraction(4, 5))
    assert dollars.convert(1_000_000, ("USD", "EUR"), DAY) == 800_000
    assert dollars.convert(1_234_567, ("EUR", "EUR"), DAY) == 1_234_567
    assert dollars.convert(1_000_000, ("XAF", "EUR"), DAY) is None


@given(st.integers(-(10**18), 10**18), RATES, st.sampled_from([1, 100, 10_000]))
def test_it_rounds_as_fractions_do(amount: int, rate: Fraction, step: int) -> None:
    assert converted(amount, rate, step) == step * round(amount * rate / step)


@given(st.integers(-10_000, 10_000))
def test_halves_go_to_the_even_one(number: int) -> None:
    assert converted(number * 100, Fraction(1, 2), 100) == 100 * round(Fraction(number, 2))


@given(st.integers(-3 * MAX_COUNTED, 3 * MAX_COUNTED), RATES)
def test_sums_leave_out_what_is_too_large(amount: int, rate: Fraction) -> None:
    for by_page, most in ((False, MAX_COUNTED), (True, MAX_COUNTED_OF_PAGES)):
        worth = table(rate).convert(amount, ("USD", "EUR"), DAY, by_page=by_page)
        exact = converted(amount, rate, 100)
        assert worth == (exact if abs(exact) <= most else None)
