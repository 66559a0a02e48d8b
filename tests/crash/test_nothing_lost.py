"""No acknowledged event is lost and none is stored twice, whichever process dies.

HEADWATER_CRASH_ROUNDS makes the run longer: an ordinary run has a single round of USUAL faults, a long run
has two rounds of every kind of fault. The seed is fixed, so that a run can be repeated as far as the
machine's timing allows.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.crash.campaign import Campaign
from tests.crash.faults import FAULTS, schedule
from tests.crash.service import Service
from tests.crash.verdict import Verdict
from tests.support.campaigns import campaign_size, in_long_runs

ROUNDS = campaign_size("HEADWATER_CRASH_ROUNDS", 0, 2)
USUAL = ("kill worker", "worker_after_claim", "kill backend")
"""A Headwater process dies, one dies in the middle of its work, and the database loses all connections."""
FAULTS_PER_ROUND = -(-len(FAULTS) // 2)
SPACES = 3


def test_nothing_is_lost(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    accounts = [service.open_account(f"Shop {number}") for number in range(SPACES)]
    campaign = Campaign(service, accounts)
    faults = schedule("nothing lost") if ROUNDS else iter(USUAL)
    for number in range(ROUNDS or 1):
        round_faults = list(itertools.islice(faults, FAULTS_PER_ROUND))
        verdict = campaign.round(f"round {number}", round_faults)
        assert verdict.violations == {}, (number, round_faults)
    with capsys.disabled():
        print(f"\n{campaign.tally}")  # noqa: T201 # a long run is made for its figures
    if ROUNDS:  # of the usual faults only one can strike a request, and may miss all
        assert campaign.tally.unknown_count > 0, "no fault struck a request under way"


def run_mutant(directory: Path, fault: str, *kills: str) -> Verdict:
    """Run a round against Headwater with a planted fault."""
    service = Service(directory, "tests.crash.mutant", fault)
    service.install()
    try:
        service.start()
        return Campaign(service, [service.open_account("Shop")]).round("mutant", kills)
    finally:
        service.end()


@in_long_runs
def test_catches_acknowledging_before_commit(tmp_path: Path) -> None:
    assert run_mutant(tmp_path, "acknowledge_early", "kill api").lost


def test_catches_storing_without_unique_key(tmp_path: Path) -> None:
    assert run_mutant(tmp_path, "store_twice", "inbox_after_commit").doubled


@in_long_runs
def test_catches_taking_off_the_queue_before_storing(tmp_path: Path) -> None:
    assert run_mutant(tmp_path, "forget_when_claiming", "worker_before_commit").lost
