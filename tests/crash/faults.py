"""Faults for a service under load. Each function returns once its fault has struck."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator

from tests.crash.processes import Process
from tests.crash.service import Service
from tests.support.waiting import wait_until

Fault = Callable[[Service, random.Random], list[Process]]
"""A function that strikes and returns the processes that must have ended as a result."""

FAILPOINTS = {
    "inbox_before_insert": "api",
    "inbox_after_commit": "api",
    "worker_after_claim": "worker",
    "worker_after_merge": "worker",
    "worker_after_events": "worker",
    "worker_before_commit": "worker",
    "worker_after_commit": "worker",
}
"""Every failpoint on the load's path, and the processes that reach it."""


def kill(role: str) -> Fault:
    """Return a fault: SIGKILL to a random process of a role."""

    def strike(service: Service, draw: random.Random) -> list[Process]:
        victim = draw.choice(service.processes(role))
        victim.send(signal.SIGKILL)
        return [victim]

    return strike


def die_at(failpoint: str) -> Fault:
    """Return a fault: a process dies at a failpoint."""

    def strike(service: Service, _: random.Random) -> list[Process]:
        before = service.processes(FAILPOINTS[failpoint])
        service.arm(failpoint)
        wait_until(lambda: not all(process.is_alive for process in before))
        return [process for process in before if not process.is_alive]

    return strike


def end_postmaster(number: signal.Signals) -> Fault:
    """Return a fault: a signal to the postmaster. After SIGKILL, PostgreSQL's other processes have to notice
    by themselves. SIGQUIT ends them immediately.
    """

    def strike(service: Service, _: random.Random) -> list[Process]:
        processes = service.postgresql()
        processes[0].send(number)
        return processes

    return strike


def kill_postgresql(service: Service, _: random.Random) -> list[Process]:
    """Send SIGKILL to all of PostgreSQL's processes."""
    processes = service.postgresql()
    for process in processes:
        process.send(signal.SIGKILL)
    return processes


def kill_backend(service: Service, draw: random.Random) -> list[Process]:
    """Send SIGKILL to one connection's process. PostgreSQL then drops all connections."""
    victim = draw.choice([process for process in service.postgresql() if "headwater [" in process.command])
    victim.send(signal.SIGKILL)
    return [victim]


FAULTS: dict[str, Fault] = {
    "kill api": kill("api"),
    "kill worker": kill("worker"),
    "kill postmaster": end_postmaster(signal.SIGKILL),
    "kill postgresql": kill_postgresql,
    "kill backend": kill_backend,
    "stop postgresql at once": end_postmaster(signal.SIGQUIT),
    **{failpoint: die_at(failpoint) for failpoint in FAILPOINTS},
}


def inject(service: Service, name: str, draw: random.Random) -> None:
    """Inject a fault, and wait until the service has recovered without help."""
    victims = FAULTS[name](service, draw)
    wait_until(lambda: not any(process.is_alive for process in victims))
    service.await_whole()


def schedule(seed: str) -> Iterator[str]:
    """Yield faults endlessly, each kind once before any repeats."""
    draw = random.Random(seed)
    while True:
        yield from draw.sample(sorted(FAULTS), len(FAULTS))
