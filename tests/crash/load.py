"""The load: one thread per connection, with a ledger of the answers about each event."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from http.client import HTTPConnection, HTTPException, HTTPMessage
from typing import Any

from tests.crash.journeys import Item, Shipment
from tests.support.campaigns import IS_LONG

API = "/public-api/v1"
PACE_SECONDS = 0.02 if IS_LONG else 0.1
"""Seconds between the starts of a connection's requests."""
RETRY_SECONDS = 0.05
ANSWER_SECONDS = 15
RESEND_ITEMS = 20
PATIENCE = 2_000
"""How often a persistent connection repeats a request before it gives up."""


class Outcome(StrEnum):
    """What the client knows about an event."""

    OK = "ok"
    REJECTED = "rejected"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Account:
    """The Space that a connection sends to."""

    host: str
    port: int
    space_id: int
    key: str


@dataclass
class Ledger:
    """Sent items and the answers to them, by idempotency key."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    items: dict[str, tuple[Account, Item]] = field(default_factory=dict)
    receipts: dict[str, int] = field(default_factory=dict)
    """Of acknowledged events only."""
    surprises: list[str] = field(default_factory=list)
    """Answers that no fault excuses."""

    def note(self, account: Account, item: Item, outcome: Outcome, receipt: int | None) -> None:
        self.items[item.key] = (account, item)
        self.outcomes[item.key] = outcome
        if receipt is not None:
            self.receipts[item.key] = receipt
        if outcome is not Outcome.UNKNOWN and item.valid != (outcome is Outcome.OK):
            self.surprises.append(f"{item.key}: {outcome}")

    def absorb(self, ledger: Ledger) -> None:
        """Add another ledger's entries, which are newer."""
        self.outcomes |= ledger.outcomes
        self.items |= ledger.items
        self.receipts |= ledger.receipts
        self.surprises += ledger.surprises

    def keys(self, outcome: Outcome) -> list[str]:
        return [key for key, event_outcome in self.outcomes.items() if event_outcome is outcome]


class Sender(threading.Thread):
    """A connection. A persistent one repeats a request until its outcome is known, as a careful client does.
    Others continue and leave the event unknown.
    """

    def __init__(
        self,
        account: Account,
        work: Iterable[Shipment],
        *,
        persistent: bool = False,
        pause: float = PACE_SECONDS,
    ) -> None:
        super().__init__(daemon=True)
        self.account, self.work, self.persistent, self.pause = account, work, persistent, pause
        self.ledger = Ledger()
        self.sent = 0
        self.stopping = threading.Event()
        self._http = HTTPConnection(account.host, account.port, timeout=ANSWER_SECONDS)

    def run(self) -> None:
        due = time.monotonic()
        for shipment in self.work:
            if self.stopping.is_set():
                break
            self._deliver(shipment)
            self.sent += 1
            now = time.monotonic()
            due = max(due + self.pause, now)  # delays from an outage are not made up for
            self.stopping.wait(due - now)
        self._http.close()

    def _deliver(self, shipment: Shipment) -> None:
        pause = threading.Event()
        for _ in range(PATIENCE):
            if self._send(shipment):
                return
            pause.wait(RETRY_SECONDS)
            if not self.persistent:
                return

    def _send(self, shipment: Shipment) -> bool:
        """Send once and record the answer. Return whether it was definite."""
        try:
            status, headers, body = self._post(shipment)
        except (OSError, HTTPException):
            self._http.close()
            status, headers, body = 0, HTTPMessage(), {}
        if status not in (0, 202, 422) and (status != 503 or "Retry-After" not in headers):
            self.ledger.surprises.append(f"answer {status}: {body}")
        for index, item in enumerate(shipment.items):
            self.ledger.note(self.account, item, *_read_outcome(status, headers, body, index))
        return status in (202, 422)

    def _post(self, shipment: Shipment) -> tuple[int, HTTPMessage, Any]:
        payloads = [item.payload for item in shipment.items]
        path = "/events/track" if len(payloads) == 1 else "/events/batch"
        body = payloads[0] if len(payloads) == 1 else {"events": payloads}
        headers = {"Authorization": f"Bearer {self.account.key}"}
        self._http.request("POST", API + path, json.dumps(body), headers)
        answer = self._http.getresponse()
        return answer.status, answer.headers, json.loads(answer.read())


def _read_outcome(status: int, headers: HTTPMessage, body: Any, index: int) -> tuple[Outcome, int | None]:
    """Return what an answer means for the request's item at `index`."""
    if status not in (202, 422):
        return Outcome.UNKNOWN, None
    if "results" not in body:
        receipt = headers.get("X-Receipt-Id")
        return (Outcome.OK, int(receipt)) if receipt else (Outcome.REJECTED, None)
    result = body["results"][index]
    if result["status"] == "queued":
        return Outcome.OK, int(result["receipt_id"])
    return Outcome.REJECTED, None


class Load:
    """Several connections at the same time."""

    def __init__(self, senders: Iterable[Sender]) -> None:
        self.senders = list(senders)

    def start(self) -> None:
        for sender in self.senders:
            sender.start()

    def acknowledged_count(self) -> int:
        """Return the number of events acknowledged so far."""
        return sum(len(sender.ledger.receipts) for sender in self.senders)

    def surprises(self) -> list[str]:
        """Return the answers so far that no fault excuses."""
        return [surprise for sender in self.senders for surprise in sender.ledger.surprises]

    def finish(self) -> Ledger:
        """Wait until the connections have sent everything they were given."""
        for sender in self.senders:
            sender.join()
        ledger = Ledger()
        for sender in self.senders:
            ledger.absorb(sender.ledger)
        return ledger

    def stop(self) -> Ledger:
        """Stop the connections after their current requests."""
        for sender in self.senders:
            sender.stopping.set()
        return self.finish()


def resend(ledger: Ledger) -> Ledger:
    """Resend every unknown event with its idempotency key until its fate is known."""
    unknown: dict[Account, list[Item]] = {}
    for key in ledger.keys(Outcome.UNKNOWN):
        account, item = ledger.items[key]
        unknown.setdefault(account, []).append(item)
    load = Load(Sender(account, _split_items(items), persistent=True) for account, items in unknown.items())
    load.start()
    return load.finish()


def _split_items(items: list[Item]) -> list[Shipment]:
    return [Shipment((*items[start : start + RESEND_ITEMS],)) for start in range(0, len(items), RESEND_ITEMS)]
