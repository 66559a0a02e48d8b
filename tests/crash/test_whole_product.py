"""Every capability at the same time, while every kind of process dies, freezes and restarts: acknowledged
data is stored once, erased data is gone, and started work is finished.

HEADWATER_CRASH_FAULTS makes the run longer, HEADWATER_CRASH_EVENTS spreads the faults over this many events
of the shop, and HEADWATER_CRASH_SEED changes the random moments. It prints its figures.
"""

from __future__ import annotations

import os
import random
import signal
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.crash.campaign import Campaign, Tally
from tests.crash.capabilities import Assistant, Client, ContactChanges, Erasures, Tracker, Webhook, take
from tests.crash.faults import FAULTS, inject
from tests.crash.journeys import BATCH_SIZES, LARGE_BATCHES
from tests.crash.load import Load
from tests.crash.longer_work import Exports, Forwarding, Imports
from tests.crash.processes import send_all
from tests.crash.service import Service
from tests.support.campaigns import campaign_size, in_long_runs
from tests.support.fake_platform import FakePlatform
from tests.support.sites import ORIGIN
from tests.support.waiting import PATIENCE_SECONDS, wait_until

STRIKES = campaign_size("HEADWATER_CRASH_FAULTS", 1, 2)
EVENTS = int(os.environ.get("HEADWATER_CRASH_EVENTS", "0"))
SEED = os.environ.get("HEADWATER_CRASH_SEED", "whole")
LEAST_SECONDS, MOST_SECONDS = 0.1, 0.8
FROZEN_SECONDS = 1.0
CHILDREN = ("forwarder", "exporter")


class Product:
    """A service with two API processes, a fully set-up Space, and its clients."""

    def __init__(self, directory: Path, meta: FakePlatform, *module: str) -> None:
        variables = {"HEADWATER_META_URL": meta.url}
        self.service = Service(directory, *module, workers=2, variables=variables)
        self.meta = meta
        self.recoveries: list[float] = []

    def start(self, seed: str) -> list[Client]:
        """Start the service and return the clients, not yet started."""
        service = self.service
        service.install()
        service.start()
        account = self.account = service.open_account("Everything")
        space = ("--space", str(account.space_id))
        site = service.run_json("site", "create", *space, "--name", "S", "--origin", ORIGIN)
        webhook = service.run_json(
            "webhook", "create", *space, "--type", "generic", "--name", "W",
            "--set", "event=purchase", "--set", "map.idempotency_key=id", "--set",
            "map.email=email",
        )  # fmt: skip
        person = ("user@crash.example", "--role", "owner", "--password-stdin")
        service.run_json("user", "create", *space, "--email", *person, stdin="a long password 77")
        token = service.run_json("pat", "create", *space, "--user", person[0], "--name", "T")
        service.run_json(
            "destination", "create", *space, "--platform", "meta", "--set", "pixel_id=1234567890",
            "--secret", "access_token=@-", "--all-events", stdin="token",
        )  # fmt: skip
        basics = service, account, seed
        # Forwarding is last: its check depends on the events of the others.
        return [
            Tracker(*basics, site["site_key"]), Webhook(*basics, urlsplit(webhook["url"]).path),
            Assistant(*basics, token["token"]), ContactChanges(*basics), Erasures(*basics),
            Exports(*basics), Imports(*basics), Forwarding(*basics, self.meta),
        ]  # fmt: skip

    def strike(self, fault: str, draw: random.Random) -> None:
        """Inject a fault, and record how long the recovery takes."""
        start = time.monotonic()
        if fault == "kill supervisor":
            family = self.service.family()
            self.service.kill_supervisor()
            wait_until(lambda: not any(process.is_alive for process in family))
            self.service.start()
        elif fault.startswith("freeze "):
            victims = self.service.processes(fault.removeprefix("freeze "))
            send_all(victims[:1], signal.SIGSTOP)
            time.sleep(FROZEN_SECONDS)
            send_all(victims[:1], signal.SIGCONT)
        elif fault.removeprefix("kill ") in CHILDREN:
            send_all(self.service.children(fault.removeprefix("kill ")), signal.SIGKILL)
        else:
            inject(self.service, fault, draw)
        self.service.await_whole()
        self.recoveries.append(time.monotonic() - start)

    def settle(self, clients: Sequence[Client]) -> dict[str, list[str]]:
        """Wait until all accepted work is done, and return the broken promises."""
        for client in clients:
            client.stopping.set()
        for client in clients:
            client.join()
        self.service.drain()
        with psycopg.connect(self.service.database_url, autocommit=True) as connection:
            wait_until(
                lambda: connection.execute(
                    "SELECT count(*) FROM erasures WHERE erased_at IS NULL"
                ).fetchone() == (0,), 2 * PATIENCE_SECONDS,
            )  # fmt: skip
            faults_by_client = {
                client.name: client.surprises + client.broken_promises(connection) for client in clients
            }
        return {name: problems for name, problems in faults_by_client.items() if problems}


FAULTS_OF_ALL = (
    *FAULTS, "kill supervisor", "freeze api", "freeze worker", *(f"kill {child}" for child in CHILDREN)
)  # fmt: skip


def faults(seed: str) -> Iterator[str]:
    """Yield faults endlessly, each kind once before any repeats."""
    draw = random.Random(seed)
    while True:
        yield from draw.sample(FAULTS_OF_ALL, len(FAULTS_OF_ALL))


@pytest.fixture
def meta() -> Iterator[FakePlatform]:
    with FakePlatform(default=take) as platform:
        yield platform


@dataclass
class Run:
    """The findings of a run."""

    broken_promises: dict[str, list[str]]
    """The broken promises."""
    clients: Sequence[Client]
    shop: Tally


def run(product: Product, seed: str, capabilities: Sequence[str]) -> Run:
    """Inject the faults in turn while everything is used."""

    def strike(load: Load) -> None:
        draw = random.Random(seed)
        for number, fault in enumerate(capabilities):
            wait_for_share(load, number / len(capabilities))
            time.sleep(draw.uniform(LEAST_SECONDS, MOST_SECONDS))
            product.strike(fault, draw)
        wait_for_share(load, 1.0)

    outcome = use(product, seed, strike, sizes=LARGE_BATCHES if EVENTS else BATCH_SIZES)
    outcome.shop.faults += capabilities
    return outcome


def use(product: Product, seed: str, disturb: Callable[[Load], None], **shop: Any) -> Run:
    """Use everything until `disturb` returns, and judge."""
    try:
        clients = product.start(seed)
        campaign = Campaign(product.service, [product.service.open_account("Shop")], **shop)
        load = campaign.load(seed)
        for client in (*clients, load):
            client.start()
        disturb(load)
        wait_until(lambda: all(client.acknowledged_marks or client.surprises for client in clients[:-1]))
        ledger = load.stop()
        broken_promises = product.settle(clients)
        verdict = campaign.settle(ledger, f"{seed}:")
        return Run(broken_promises | verdict.violations, clients, campaign.tally)
    finally:
        product.service.end()


def wait_for_share(load: Load, share: float) -> None:
    """Wait for a share of the shop's events, so that the faults are spread evenly among them."""
    wait_until(lambda: load.acknowledged_count() >= share * EVENTS or load.surprises())


def describe(product: Product, run: Run) -> str:
    """Return the figures of a run."""
    lines = [f"\n{len(product.recoveries)} faults", f"  the shop: {run.shop}"]
    if took := product.recoveries:
        lines[0] += f", recovery p50 {statistics.median(took):.1f} s, max {max(took):.1f} s"
    lines += [
        f"  {client.name}: {len(client.acknowledged_marks)} acknowledged, {client.repeated} repeated,"
        f" {len(run.broken_promises.get(client.name, []))} broken"
        for client in run.clients
    ]
    return "\n".join(lines)


def test_every_promise_is_kept(
    tmp_path: Path, meta: FakePlatform, capsys: pytest.CaptureFixture[str]
) -> None:
    product, source = Product(tmp_path, meta), faults(SEED)
    outcome = run(product, SEED, [next(source) for _ in range(STRIKES)])
    with capsys.disabled():
        print(describe(product, outcome))  # noqa: T201 # a long run is made for its figures
    assert outcome.broken_promises == {}
    assert all(client.acknowledged_marks for client in outcome.clients)


@in_long_runs
def test_catches_what_is_not_erased_and_what_is_not_forwarded(tmp_path: Path, meta: FakePlatform) -> None:
    faulty = Product(tmp_path, meta, "tests.crash.mutant", "erase_nothing+forget_destinations")
    assert run(faulty, "mutant", []).broken_promises.keys() == {"Erasures", "Forwarding"}
