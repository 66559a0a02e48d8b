"""A round of the crash test: load, faults, recovery, resending, verdict."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.crash.faults import inject
from tests.crash.journeys import BATCH_SIZES, shipments
from tests.crash.load import PACE_SECONDS, Account, Ledger, Load, Outcome, Sender, resend
from tests.crash.service import Service
from tests.crash.verdict import Verdict, holdings, judge
from tests.support.waiting import wait_until

CONNECTIONS_PER_SPACE = 2


@dataclass
class Tally:
    """The totals of several rounds."""

    acknowledged_count: int = 0
    rejected_count: int = 0
    unknown_count: int = 0
    """Events whose fate the client learned only by resending them."""
    stored_unknown_count: int = 0
    """The part of them that had been stored."""
    faults: list[str] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)

    def __str__(self) -> str:
        lost_count, doubled_count = (
            sum(len(getattr(verdict, name)) for verdict in self.verdicts) for name in ("lost", "doubled")
        )
        return (
            f"{len(self.verdicts)} rounds, {len(self.faults)} faults: "
            f"{self.acknowledged_count} acknowledged, {self.rejected_count} rejected, "
            f"{self.unknown_count} unknown of which {self.stored_unknown_count} were stored; "
            f"{lost_count} lost, {doubled_count} doubled"
        )


@dataclass
class Campaign:
    """Rounds against one service."""

    service: Service
    accounts: Sequence[Account]
    sizes: Sequence[int] = BATCH_SIZES
    """The possible numbers of events per request."""
    pause: float = PACE_SECONDS
    """Seconds between two requests of a connection."""
    tally: Tally = field(default_factory=Tally)

    def round(self, seed: str, faults: Sequence[str]) -> Verdict:
        """Run a round and return its verdict. Raise AssertionError when the service doesn't recover."""
        draw = random.Random(seed)
        load = self.load(seed)
        load.start()
        for fault in faults:
            wait_for_progress(load, draw)
            inject(self.service, fault, draw)
        wait_for_progress(load, draw)
        self.tally.faults += faults
        return self.settle(load.stop(), f"{seed}:")

    def load(self, seed: str) -> Load:
        """Return the connections of a round, not yet started."""
        return Load(
            Sender(account, shipments(f"{seed}:{account.space_id}:{number}", self.sizes), pause=self.pause)
            for account in self.accounts
            for number in range(CONNECTIONS_PER_SPACE)
        )

    def settle(self, ledger: Ledger, prefix: str) -> Verdict:
        """Resend unknown events, judge before and after, and add the verdict to the tally."""
        self.service.drain()
        verdict = self._judge(ledger, prefix)
        self.tally.acknowledged_count += len(ledger.keys(Outcome.OK))
        self.tally.rejected_count += len(ledger.keys(Outcome.REJECTED))
        self.tally.verdicts.append(verdict)
        return verdict

    def _judge(self, ledger: Ledger, prefix: str) -> Verdict:
        unknown = ledger.keys(Outcome.UNKNOWN)
        events_held = holdings(self.service, prefix)
        self.tally.unknown_count += len(unknown)
        self.tally.stored_unknown_count += sum(key in events_held for key in unknown)
        before = judge(self.service, ledger, prefix)
        ledger.absorb(resend(ledger))
        self.service.drain()
        after = judge(self.service, ledger, prefix)
        after.doubled += before.doubled
        after.surprises += [f"{key}: still unknown" for key in ledger.keys(Outcome.UNKNOWN)]
        return after


def wait_for_progress(load: Load, draw: random.Random) -> None:
    """Wait until a random number of further events is acknowledged, so that faults strike at any time. An
    answer that no fault excuses ends the wait and will be in the verdict.
    """
    enough = load.acknowledged_count() + draw.randrange(20, 300)
    wait_until(lambda: load.acknowledged_count() >= enough or load.surprises())
