"""Changes between two snapshots, compared with plain lists over random histories."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import psycopg
import pytest
from psycopg import AsyncConnection

from headwater.attribution.history.revisions import OF_SPEND, ChangeCause
from tests.reports.change_court import Case, ChangeCourt
from tests.reports.change_faults import FAULTS, Plant


@pytest.fixture
def court(connection: psycopg.Connection, database_url: str) -> Iterator[ChangeCourt]:
    with asyncio.Runner() as runner:
        reader = runner.run(AsyncConnection.connect(database_url))
        yield ChangeCourt(connection, runner, reader)
        runner.run(reader.close())


def test_it_works(court: ChangeCourt) -> None:
    court.judge_many()
    tried_elsewhere = {ChangeCause.HALF_LIFE, ChangeCause.RATES, *OF_SPEND}
    assert {*court.cause_counts} == {*ChangeCause} - tried_elsewhere, "the histories have every cause"
    missed_faults = {name for name, plant in FAULTS.items() if not any(map(_make_check(plant), court.cases))}
    assert missed_faults == set()


def _make_check(plant: Plant) -> Callable[[Case], bool]:
    """Return a function that checks whether a planted fault affects a case."""

    def is_different(case: Case) -> bool:
        with pytest.MonkeyPatch.context() as patch:
            plant(patch)
            return case.is_different()

    return is_different
