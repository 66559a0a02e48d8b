"""The product's reports against the model's, in the middle of random histories and at their end.

`HEADWATER_HISTORIES=10000` makes it a long run.
"""

from __future__ import annotations

import os
import time
from random import Random

from tests.reports.court import Court, build_all
from tests.reports.faults import FAULTS
from tests.reports.histories import Arrive, Change, History
from tests.support.pipeline import DAY, MINUTE, T0, event, touch

HISTORIES = int(os.environ.get("HEADWATER_HISTORIES", "0"))
USUALLY = 300
SECONDS = 45
"""An ordinary run ends then, however few it has judged; a long one when it has judged them all."""


def test_it_works(court: Court) -> None:
    if not HISTORIES:
        court.until = time.monotonic() + SECONDS
    court.judge_many(HISTORIES or USUALLY)
    assert court.judged > 0


def test_a_fault_of_any_kind_is_found(court: Court) -> None:
    assert court.missed_faults(FAULTS) == set()


def test_a_name_that_is_applied_to_the_past(court: Court) -> None:
    """Segments of before do not know the source, and are built anew."""
    who, at = {"email": "ada@example.com"}, T0 + DAY
    link = "https://a.example/?utm_source=fb-paid&utm_term=boots"
    items = (
        touch(**who, occurred_at=T0, source=None, url=link),
        touch(**who, occurred_at=T0 + MINUTE, source="email"),
        event(**who, event_time=at, amount="100"),
    )
    names = [Change("source_name", 4, other, None) for other in (0, 1, 2)]
    court.hooks = (lambda world, _: build_all(world.connection, world.space_id),)
    for seed in range(3):
        history = History("UTC", "auto", (), (Arrive(items, 3), *names))
        court.judge(history, Random(seed))
