"""The product's reports compared with the model's, during random histories and at their end."""

from __future__ import annotations

from random import Random

from tests.reports.court import Court, build_all
from tests.reports.faults import FAULTS
from tests.reports.histories import Arrive, Change, History
from tests.support.pipeline import DAY, MINUTE, T0, event, touch

RARE = (
    "a repeated hour ends with its first pass", "campaigns are grouped by name",
    "the catalogue's names are not searched", "the last second of a period is not part of it",
)  # fmt: skip


def test_it_works(court: Court) -> None:
    court.judge_random(seconds=4, faults=FAULTS, rare_faults=RARE)


def test_a_name_that_is_applied_to_the_past(court: Court) -> None:
    """Old segments don't know the source, and are rebuilt."""
    who, event_time = {"email": "ada@example.com"}, T0 + DAY
    link = "https://a.example/?utm_source=fb-paid&utm_term=boots"
    items = (
        touch(**who, occurred_at=T0, source=None, url=link),
        touch(**who, occurred_at=T0 + MINUTE, source="email"),
        event(**who, event_time=event_time, amount="100"),
    )
    names = [Change("source_name", 4, index, None) for index in (0, 1, 2)]
    court.hooks = (lambda world, _: build_all(world.connection, world.space_id),)
    for seed in range(3):
        history = History("UTC", "auto", (), (Arrive(items, 3), *names))
        court.judge(history, Random(seed))
