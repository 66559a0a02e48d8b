"""A lease is renewed during work, survives a lost connection, and reports when it is lost."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from headwater.database.jobs import lease
from headwater.database.jobs.lease import LeaseLostError, LeaseRenewal
from tests.support.waiting import wait_until


@pytest.fixture(autouse=True)
def _immediate_renewal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "RENEW_SECONDS", 0.0)


class Renewals:
    """A lease that is renewed `grant_count` times and then lost."""

    def __init__(self, grant_count: int, failing: int = 0) -> None:
        self.granted, self.failing, self.asked = grant_count, failing, 0

    def __call__(self, connection: psycopg.Connection[Any]) -> bool:
        self.asked += 1
        if self.asked <= self.failing:
            connection.close()
            raise psycopg.OperationalError
        return self.asked <= self.granted


def is_lost(renewal: LeaseRenewal) -> bool:
    try:
        renewal.check()
    except LeaseLostError:
        return True
    return False


def test_it_works(database_url: str) -> None:
    renewals = Renewals(grant_count=3)
    with LeaseRenewal(database_url, renewals) as renewal:
        wait_until(lambda: is_lost(renewal), description="the loss of the lease")
    assert renewals.asked == 4


def test_it_is_renewed_until_the_work_ends(database_url: str) -> None:
    renewals = Renewals(grant_count=10**9)
    with LeaseRenewal(database_url, renewals) as renewal:
        wait_until(lambda: renewals.asked > 3, description="renewals")
        renewal.check()
    count = renewals.asked
    renewal.check()
    assert renewals.asked == count


def test_a_lost_connection_is_no_lost_lease(database_url: str) -> None:
    renewals = Renewals(grant_count=10**9, failing=2)
    with LeaseRenewal(database_url, renewals) as renewal:
        wait_until(lambda: renewals.asked > 4, description="renewals on a new connection")
        renewal.check()
