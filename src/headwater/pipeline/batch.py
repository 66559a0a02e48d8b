"""A batch on its way through the steps: the rows that arrived, what the steps learn about them, and
what is to be written. One explicit object, so that each step says what it reads and what it adds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from zoneinfo import ZoneInfo

from headwater.browsing.accepted import AcceptedHit, AcceptedPerson
from headwater.browsing.clicks import Clicks
from headwater.browsing.views import View
from headwater.browsing.visits import Visit
from headwater.companies.assignment import Companies
from headwater.contacts.batch_store import Profiles
from headwater.contacts.names import Parts
from headwater.deliveries.outbox import OutboxDestination
from headwater.events.accepted import AcceptedEvent
from headwater.events.batch_store import Duplicate, Recorded, RecordedEvents, Replaced, StoredEvent
from headwater.identity.directory import Contact, Directory, Merge
from headwater.identity.junk import Junk
from headwater.identity.queries import KnownLink
from headwater.identity.resolution import ItemIdentity
from headwater.inbox.rows import InboxRow, Rejection
from headwater.pipeline.paths import ContactPath, EventSources
from headwater.sources.addresses import read_address
from headwater.sources.exclusions import Exclusions, exclusions_of
from headwater.touchpoints.batch_store import TouchpointRange
from headwater.touchpoints.models import Touch


@dataclass(frozen=True)
class SpaceRules:
    """The settings of a Space that decide how its rows are processed."""

    id: int
    timezone: str
    company_identity_mode: str
    ignored_identifiers: list[str]
    own_domains: list[str]
    """The hosts of its sites' origins among them."""
    excluded_referrers: list[str]
    heeded_referrers: list[str]

    @cached_property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    @cached_property
    def junk(self) -> Junk:
        return Junk(self.ignored_identifiers)

    @cached_property
    def exclusions(self) -> Exclusions:
        own = tuple(host for host in self.own_domains if read_address(host) is not None)
        return exclusions_of(own, tuple(self.excluded_referrers), tuple(self.heeded_referrers))


class Item:
    """One readable row of a batch, and what the steps have learnt about it: somebody at a
    moment, and what the row says they did. A kind of row is the parts that it has.
    """

    __slots__ = (
        "at", "contact", "event", "hit", "id", "mark", "person", "received_at", "touch", "view",
        "warnings", "who",
    )  # fmt: skip

    contact: Contact
    """As resolved when the row's turn came; `contact.final()` is where it ends up."""
    mark: EventSources
    """Of an event: the sources before it."""
    view: View
    """Of a page view: what it tells."""

    def __init__(self, arrival: InboxRow, who: ItemIdentity) -> None:
        self.id = arrival.id
        self.received_at = arrival.received_at
        self.at = who.at
        self.who = who
        self.warnings: list[str] | None = None
        self.event: AcceptedEvent | None = None
        self.touch: Touch | None = None
        """None as well when it repeats one already there."""
        self.hit: AcceptedHit | None = None
        self.person: AcceptedPerson | None = None

    def warn(self, warnings: Sequence[str]) -> None:
        """Add what the sender should know of the row, if there is anything."""
        if warnings:
            self.warnings = [*(self.warnings or ()), *warnings]

    @property
    def is_stored(self) -> bool:
        """True where anything is left of it to store."""
        return not (self.event is self.touch is self.hit is self.person is None)


class Batch:
    """A Space's rows that are processed in one transaction."""

    def __init__(self, space: SpaceRules, arrivals: list[InboxRow], directory: Directory) -> None:
        self.space = space
        self.arrivals = arrivals
        self.directory = directory
        self.items: list[Item] = []
        self.recorded = RecordedEvents(Recorded({}, {}), Recorded({}, {}))
        """Stored events that those of the batch may repeat."""
        self.page_view_keys: set[str] = set()
        """Of stored page views that those of the batch may repeat."""
        self.links: list[KnownLink] = []
        """Stored identifiers that the batch shows."""
        self.rejections: list[Rejection] = []
        self.duplicates: list[Duplicate] = []
        self.replaced: list[Replaced] = []
        self.events: list[StoredEvent] = []
        """The rows of its events, once these are written."""
        self.companies = Companies()
        self.profiles = Profiles()
        self.paths: dict[Contact, ContactPath] = {}
        self.late_sources: dict[int, int] = {}
        """Sources, as bits, that the batch's touches add to stored events, by event id."""
        self.targets: list[OutboxDestination] = []
        """The destinations that the Space's events are forwarded to."""
        self.clicks = Clicks()
        self.views: dict[int, View] = {}
        """The page views that could make a touchpoint, or do, loaded ones included."""
        self.visits: list[Visit] = []
        self.view_spans: list[TouchpointRange] = []
        """Spans in which stored touches may change because of the batch's page views."""
        self.names: list[tuple[Contact, str, Parts]] = []
        """Names with their parts as events gave them, in order of arrival."""
        self.bots: dict[int, int] = {}
        """Page views by bots, by site."""

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

    def family(self) -> Callable[[Contact], list[Contact]]:
        """Tells of a contact that the batch ends with every stored one that is part of it."""
        merged: dict[Contact, list[Contact]] = {}
        for merge in self.directory.merges:
            if not merge.loser.is_new:
                merged.setdefault(merge.loser.final(), []).append(merge.loser)

        def members(contact: Contact) -> list[Contact]:
            # The oldest contact survives, so a new one has no stored ones in it.
            return [] if contact.is_new else [contact, *merged.get(contact, ())]

        return members

    def path(self, contact: Contact) -> ContactPath:
        """The contact's path; of a contact that has not been loaded, an empty one."""
        path = self.paths.get(contact)
        if path is None:
            path = self.paths[contact] = ContactPath(self.profiles.of(contact).source_mask)
        return path


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The outcome of a batch, or of several added up."""

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
        names = [counted.name for counted in fields(self)]
        return BatchResult(*(getattr(self, name) + getattr(other, name) for name in names))
