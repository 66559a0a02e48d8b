"""A batch on its way through the steps: what arrived, what has been found out about it, and what
is to be written. One explicit object, so that each step says what it reads and what it adds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from headwater.companies.grouping import Companies
from headwater.contacts.storing import Profiles
from headwater.events.accepted import AcceptedEvent
from headwater.events.recording import Duplicate
from headwater.forwarding.outbox import Target
from headwater.identity.directory import Contact, Directory, Merge
from headwater.identity.junk import Junk
from headwater.identity.matching import Presented
from headwater.pipeline.touchpoints import Mark, Path, Touch


class RejectReason(StrEnum):
    """Why a row could not be processed."""

    UNREADABLE_PAYLOAD = "unreadable_payload"
    UNKNOWN_KIND = "unknown_kind"
    PROCESSING_ERROR = "processing_error"


class Rejection(msgspec.Struct, frozen=True, gc=False):
    """A row to be set aside. `detail` never holds what the row contains."""

    id: int
    reason: RejectReason
    detail: str


class Arrival(NamedTuple):
    """A row of the inbox. `received_at` is in µs since 1970."""

    id: int
    kind: str
    received_at: int
    payload: str


@dataclass(frozen=True)
class SpaceRules:
    """What of a Space's settings decides how its rows are processed."""

    id: int
    timezone: str
    company_identity_mode: str
    ignored_identifiers: list[str]

    @cached_property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    @cached_property
    def junk(self) -> Junk:
        return Junk(self.ignored_identifiers)


class Item:
    """One readable row of a batch, and what the steps have found out about it: somebody at a
    moment, and what the row says they did. A kind of row is the parts that it has.
    """

    __slots__ = ("at", "contact", "event", "id", "mark", "received_at", "touch", "warnings", "who")

    contact: Contact
    """As resolved when the row's turn came; `contact.final()` is where it ends up."""
    mark: Mark
    """Of an event: the sources before it."""

    def __init__(self, arrival: Arrival, who: Presented) -> None:
        self.id = arrival.id
        self.received_at = arrival.received_at
        self.at = who.at
        self.who = who
        self.warnings: list[str] | None = None
        self.event: AcceptedEvent | None = None
        self.touch: Touch | None = None
        """None as well when it repeats one already there."""

    @property
    def is_stored(self) -> bool:
        """Whether anything is left of it to store."""
        return self.event is not None or self.touch is not None


class Batch:
    """A Space's rows that are processed in one transaction."""

    def __init__(self, space: SpaceRules, arrivals: list[Arrival], directory: Directory) -> None:
        self.space = space
        self.arrivals = arrivals
        self.directory = directory
        self.items: list[Item] = []
        self.rejections: list[Rejection] = []
        self.duplicates: list[Duplicate] = []
        self.companies = Companies()
        self.profiles = Profiles()
        self.paths: dict[Contact, Path] = {}
        self.late_sources: dict[int, int] = {}
        """Sources, as bits, that the batch's touches add to stored events, by event id."""
        self.targets: list[Target] = []
        """Where the Space's events are forwarded to."""

    def timeline(self) -> Iterator[tuple[Item, list[Merge]]]:
        """The items in order of arrival, each with the merges it caused, which come before it."""
        merges = self.directory.merges
        position = 0
        for item in self.items:
            caused: list[Merge] = []
            while position < len(merges) and merges[position].receipt_id == item.id:
                caused.append(merges[position])
                position += 1
            yield item, caused

    def path(self, contact: Contact) -> Path:
        """The contact's path; of a contact that has not been loaded, an empty one."""
        path = self.paths.get(contact)
        if path is None:
            path = self.paths[contact] = Path(self.profiles.of(contact).source_mask)
        return path


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What became of a batch, or of several added up."""

    rows: int = 0
    stored: int = 0
    duplicates: int = 0
    rejected: int = 0
    contacts: int = 0
    merges: int = 0
    touchpoints: int = 0
    skipped: int = field(default=0)
    """Batches not begun because another worker had the Space."""

    def __add__(self, other: BatchResult) -> BatchResult:
        names = [each.name for each in fields(self)]
        return BatchResult(*(getattr(self, name) + getattr(other, name) for name in names))
