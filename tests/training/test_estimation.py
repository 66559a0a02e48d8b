"""Markov removal effects and Shapley values compared with their definitions, and intervals compared with
planted effects. HEADWATER_TRAINING_SETS and HEADWATER_TRAINING_RUNS make the run longer.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, permutations
from random import Random

import pytest

from headwater.attribution.models import DATA_DRIVEN_MODELS, MARKOV, SHAPLEY
from headwater.attribution.trained_models.counts import compute_weights, count_journeys
from headwater.attribution.trained_models.estimation import estimate
from headwater.attribution.trained_models.journeys import Journey, gather_journeys
from headwater.attribution.trained_models.markov import removal_effects
from headwater.attribution.trained_models.shapley import shapley_shares, shapley_weights
from headwater.sources.catalogue import SOURCE_IDS, SOURCES
from headwater.sources.source_names import SHIPPED_ALONE
from tests.training.planted import draw_journeys, markov_truth, shapley_truth

SETS = int(os.environ.get("HEADWATER_TRAINING_SETS", "60"))
RUNS = int(os.environ.get("HEADWATER_TRAINING_RUNS", "12"))
EXACT = 1e-9
NAME_OF = SHIPPED_ALONE.get_name


def some_journeys(dice: Random) -> list[Journey]:
    source_count, often = dice.randint(1, 5), dice.choice((0.05, 0.5, 0.95))
    journeys = [
        Journey(
            dice.randrange(30), tuple(dice.choices(range(1, 1 + source_count), k=dice.randint(1, 7))),
            dice.random() < often,
        )
        for _ in range(dice.randint(1, 120))
    ]  # fmt: skip
    return [*journeys, Journey(0, (1,), converted=True)]


def test_it_works() -> None:
    journeys = gather_journeys([
        Journey(1, (1, 2), converted=True), Journey(2, (1, 2), converted=True),
        Journey(2, (2,), converted=True), Journey(3, (1,), converted=False),
    ])  # fmt: skip
    assert (journeys.conversions, journeys.lost, len(journeys.converted)) == (3, 1, 3)
    effects = removal_effects(journeys.transitions(journeys.counts))
    assert effects.tolist() == pytest.approx([2 / 3, 1])
    weights = compute_weights(count_journeys(journeys, NAME_OF))
    first, second = SOURCES[:2]
    assert weights[MARKOV] == {first: Decimal("0.4"), second: Decimal("0.6")}
    third = Decimal("0.333333333")
    assert weights[SHAPLEY] == {first: third, second: 1 - third}


def test_removal_effects_are_those_of_the_definition() -> None:
    """Remove a source, so that everyone who reaches it is lost, and solve the chain again."""
    dice = Random(1)
    for _ in range(SETS):
        journeys = some_journeys(dice)
        gathered_journeys = gather_journeys(journeys)
        effects = removal_effects(gathered_journeys.transitions(gathered_journeys.counts))
        chain = make_chain(journeys)
        full_conversion = conversion_chance(chain, removed_source=None)
        for effect, source in zip(effects, gathered_journeys.sources, strict=True):
            expected = 1 - conversion_chance(chain, removed_source=source) / full_conversion
            assert effect == pytest.approx(float(expected), abs=EXACT)


def test_shapley_values_are_those_of_the_definition() -> None:
    """The value of a source is the average number of conversions that it adds, over all orders of the
    sources.
    """
    dice = Random(2)
    for _ in range(SETS):
        sets = [frozenset(journey.source_ids) for journey in some_journeys(dice) if journey.converted]
        numbers = sorted(frozenset().union(*sets))
        expected = dict.fromkeys(numbers, Fraction())
        orders = list(permutations(numbers))
        for order in orders:
            met: set[int] = set()
            for source in order:
                before = sum(source_set <= met for source_set in sets)
                met.add(source)
                expected[source] += Fraction(sum(source_set <= met for source_set in sets) - before)
        gathered_journeys = gather_journeys(
            Journey(0, tuple(source_set), converted=True) for source_set in sets
        )
        weights = shapley_weights(shapley_shares(gathered_journeys.source_sets), gathered_journeys.counts)
        assert gathered_journeys.sources == tuple(expected)
        for weight, value in zip(weights, expected.values(), strict=True):
            share = value / len(orders) / len(sets)
            assert weight == pytest.approx(float(share), abs=EXACT)


def test_weights_add_up_to_one_exactly() -> None:
    dice = Random(3)
    for _ in range(SETS):
        weights_by_model = compute_weights(count_journeys(gather_journeys(some_journeys(dice)), NAME_OF))
        assert {model: sum(weights.values()) for model, weights in weights_by_model.items()} == dict.fromkeys(
            DATA_DRIVEN_MODELS, 1
        )


def test_intervals_hold_what_is_planted() -> None:
    """In many runs, about 95 % of intervals contain the true weight; in a long run 93 to 97 % for every
    source.
    """
    truth = {MARKOV: markov_truth(), SHAPLEY: shapley_truth()}
    hits = {model: dict.fromkeys(weights, 0) for model, weights in truth.items()}
    for run in range(RUNS):
        estimates = estimate(gather_journeys(draw_journeys(Random(run), 2000)), run, NAME_OF)
        for model, intervals in estimates.items():
            for interval in intervals:
                true_weight = truth[model][SOURCE_IDS[interval.source]]
                hits[model][SOURCE_IDS[interval.source]] += interval.low <= true_weight <= interval.high
                assert abs(interval.weight - true_weight) < 0.1
    shares = [count / RUNS for weights in hits.values() for count in weights.values()]
    if RUNS >= 1000:
        assert all(0.93 <= share <= 0.97 for share in shares), hits
    assert 0.85 <= sum(shares) / len(shares) <= 1


def test_an_interval_is_the_same_again() -> None:
    journeys = gather_journeys(draw_journeys(Random(1), 100))
    first, second, third = (estimate(journeys, seed, NAME_OF) for seed in (5, 5, 6))
    assert first == second != third


def make_chain(journeys: Sequence[Journey]) -> dict[object, dict[object, Fraction]]:
    """Return the probability of each next step, for every step."""
    counts: dict[object, dict[object, int]] = {}
    for journey in journeys:
        steps = ["start", *journey.source_ids, "conversion" if journey.converted else "null"]
        for step, following in pairwise(steps):
            next_counts = counts.setdefault(step, {})
            next_counts[following] = next_counts.get(following, 0) + 1
    return {
        step: {next_step: Fraction(count, sum(following.values())) for next_step, count in following.items()}
        for step, following in counts.items()
    }


def conversion_chance(chain: dict[object, dict[object, Fraction]], removed_source: int | None) -> Fraction:
    """Return the probability of converting from the start without a source: states are eliminated one after
    another, and the paths through them joined.
    """
    remaining_chain = {step: dict(following) for step, following in chain.items() if step != removed_source}
    for step in [state for state in remaining_chain if state != "start"]:
        through = remaining_chain.pop(step)
        stay_chance = through.pop(step, Fraction())
        for following in remaining_chain.values():
            enter_chance = following.pop(step, Fraction())
            for target, chance in through.items():
                more = enter_chance * chance / (1 - stay_chance)
                following[target] = following.get(target, Fraction()) + more
    return remaining_chain["start"].get("conversion", Fraction())
