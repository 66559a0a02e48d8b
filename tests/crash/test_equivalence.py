"""A run with crashes ends in the same contacts, companies, paths and credits as a run without."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import islice

from tests.crash.campaign import wait_for_progress
from tests.crash.canonical import canonical, list_events
from tests.crash.faults import inject
from tests.crash.journeys import Shipment, shipments
from tests.crash.load import PACE_SECONDS, Account, Load, Outcome, Sender
from tests.crash.service import Service
from tests.support.campaigns import IS_LONG

CONNECTIONS = 4
USUAL = ("worker_after_merge", "kill postgresql")
FAULTS = (*USUAL, "worker_after_events", "inbox_after_commit") if IS_LONG else USUAL


def start(account: Account, work: Iterable[Iterable[Shipment]], pause: float = PACE_SECONDS) -> Load:
    """Start persistent connections, which keep each person's events in order through every crash."""
    load = Load(Sender(account, shipments, persistent=True, pause=pause) for shipments in work)
    load.start()
    return load


def test_crashes_change_nothing(service: Service) -> None:
    struck_account, calm_account = service.open_account("Hit"), service.open_account("Calm")
    seeds = [f"journey {number}" for number in range(CONNECTIONS)]
    load, draw = start(struck_account, map(shipments, seeds)), random.Random(7)
    for fault in FAULTS:
        wait_for_progress(load, draw)
        inject(service, fault, draw)
    struck_ledger = load.stop()
    same_shipments = [
        islice(shipments(seed), sender.sent) for seed, sender in zip(seeds, load.senders, strict=True)
    ]
    calm_ledger = start(calm_account, same_shipments, pause=0.0).finish()
    service.drain()
    assert struck_ledger.surprises == calm_ledger.surprises == []
    assert struck_ledger.outcomes == calm_ledger.outcomes
    expected = canonical(service, calm_account)
    assert all(expected.values()), "there are no contacts, merges or credits to compare"
    assert canonical(service, struck_account) == expected
    assert len(list_events(struck_account)) == len(struck_ledger.keys(Outcome.OK))
