"""Replaces the supervisor by another version of itself while the service keeps running.

It executes the new program in its own process. Process id, children, listening socket and the lock of
the data directory stay:

    serve, version 1 ──exec──► serve, version 2       the same process
      ├─ postgresql              ├─ postgresql         untouched
      ├─ api 1                   ├─ api 1, version 1   until its successor answers
      └─ worker 1                ├─ api 1, version 2
                                 └─ worker 1, …        likewise, one after the other
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from headwater.operations.supervision.wakeups import hold_back, listen_again

OPTION = "--handover"


@dataclass(frozen=True)
class HandedProcess:
    name: str
    pid: int
    leash: int


@dataclass(frozen=True)
class Handover:
    """The state passed to the next program: descriptors and process ids."""

    socket: int
    lock: int
    postgresql: int | None
    """The postmaster's process id; None with an external database."""
    reloads: int
    failures: int
    processes: tuple[HandedProcess, ...]


def own_command() -> list[str]:
    words = [*sys.orig_argv[1:]]
    while OPTION in words:
        index = words.index(OPTION)
        del words[index : index + 2]
    return [sys.executable, *words]


def become_next(handover: Handover) -> None:
    """Execute the program on disk. Returns only by an exception: OSError if it cannot be run."""
    descriptors = [handover.socket, handover.lock, *(process.leash for process in handover.processes)]
    reading = _write(asdict(handover))
    try:
        _set_inheritable([reading, *descriptors], True)
        hold_back()
        command = own_command()
        os.execv(command[0], [*command, OPTION, str(reading)])  # noqa: S606 # no shell is wanted
    except OSError:
        listen_again()
        _set_inheritable(descriptors, False)
        os.close(reading)
        raise


def read_handover(descriptor: int) -> Handover:
    """Return the state left by the previous program."""
    with open(descriptor, encoding="utf-8") as pipe:  # it is open already
        values: dict[str, Any] = json.load(pipe)
    processes = tuple(HandedProcess(**process) for process in values.pop("processes"))
    handover = Handover(**values, processes=processes)
    _set_inheritable([handover.socket, handover.lock], False)
    return handover


def _write(values: dict[str, Any]) -> int:
    """Return a pipe with the values. Their few hundred bytes always fit."""
    reading, writing = os.pipe()
    with open(writing, "w", encoding="utf-8") as pipe:  # noqa: PTH123 # it is open already
        json.dump(values, pipe)
    return reading


def _set_inheritable(descriptors: Sequence[int], inheritable: bool) -> None:
    for descriptor in descriptors:
        os.set_inheritable(descriptor, inheritable)
