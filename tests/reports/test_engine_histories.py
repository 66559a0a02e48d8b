"""The product's reports against the model's, in the middle of random histories and at their end.

`HEADWATER_HISTORIES=10000` makes it a long run.
"""

from __future__ import annotations

import os
import time
from copy import deepcopy

import pytest
from hypothesis import Phase

from tests.reports import answers
from tests.reports.court import Case, Court
from tests.reports.faults import FAULTS, Plant

HISTORIES = int(os.environ.get("HEADWATER_HISTORIES", "0"))
USUALLY = 300
BATCH = 25
MOST_BATCHES = 12
"""Faults are looked for in one batch of histories after another, until each has been found."""
SECONDS = 45
"""An ordinary run ends then, however few it has judged; a long one when it has judged them all."""


def test_it_works(court: Court) -> None:
    if not HISTORIES:
        court.until = time.monotonic() + SECONDS
    court.judge_many(HISTORIES or USUALLY)
    assert court.judged > 0


def test_a_fault_of_any_kind_is_found(court: Court) -> None:
    """Faults are planted in the model, as the answers are the same either way round."""
    missed = set(FAULTS)
    for _ in range(MOST_BATCHES):
        court.cases = []
        court.judge_many(BATCH, database=None, phases=[Phase.generate])
        missed = {name for name in missed if not is_found(FAULTS[name], court.cases)}
        if not missed:
            break
    assert missed == set()


def is_found(plant: Plant, cases: list[Case]) -> bool:
    """True when a planted fault makes a difference to any answer."""
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        return any(map(is_different, cases))


def is_different(case: Case) -> bool:
    """True as well when the answer cannot even be put together."""
    try:
        right = answers.expected(case.facts, case.question)
    except ValueError:
        return True
    return bool(answers.differences(deepcopy(case.told), right))
