"""A batch, with the facts that steps add."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

from headwater.events.accepted import AcceptedEvent
from headwater.events.batch_store import Duplicate, Recorded, RecordedEvents, Replaced, StoredEvent
from headwater.events.browsing.accepted import AcceptedHit, AcceptedPerson
from headwater.events.browsing.clicks import Clicks
from headwater.events.browsing.views import View
from headwater.events.browsing.visits import Visit
from headwater.events.refunds.reports import AcceptedRefund, Refund
from headwater.events.refunds.store import OrderRefunds, StoredOrder
from headwater.events.touchpoints.batch_store import TouchpointRange
from headwater.events.touchpoints.models import Touch
from headwater.events.touchpoints.tag_sets import TagSets
from headwater.forwarding.deliveries.outbox import OutboxDestination
from headwater.intake.inbox.queue import Version
from headwater.intake.inbox.rows import InboxRow, Rejection
from headwater.intake.pipeline.paths import ContactPath, EventSources
from headwater.people.companies.assignment import Companies
from headwater.people.contacts.batch_store import Profiles
from headwater.people.contacts.names import Parts
from headwater.people.identity.directory import Contact, Directory, Merge
from headwater.people.identity.joins import Joins
from headwater.people.identity.junk import Junk
from headwater.people.identity.queries import StoredLink
from headwater.people.identity.resolution import ItemIdentity
from headwater.sources.addresses import read_address
from headwater.sources.answers import AnswerRules, make_answer_rules
from headwater.sources.exclusions import Exclusions, make_exclusions
from headwater.sources.source_names import SourceNames, read_source_names
from headwater.sources.space_rules import SourceRules
from headwater.spaces.sites.sites import BotPeriod


@dataclass(frozen=True)
class SpaceRules:
    id: int
    timezone: str
    currency: str
    phone_region: str | None
    """The country of phone numbers without a country code."""
    company_identity_mode: str
    ignored_identifiers: list[str]
    own_domains: list[str]
    """Includes the hosts of its sites' origins."""
    excluded_referrers: list[str]
    heeded_referrers: list[str]
    own_names: dict[str, str]
    """Sources by utm_source values that the Space added."""
    networks: list[list[Any]]
    """Paid networks that the Space added."""
    own_answers: dict[str, str]
    """Sources by phrases that the Space added."""

    @cached_property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    @cached_property
    def junk(self) -> Junk:
        return Junk(self.ignored_identifiers)

    @cached_property
    def exclusions(self) -> Exclusions:
        valid_domains = tuple(host for host in self.own_domains if read_address(host) is not None)
        return make_exclusions(valid_domains, tuple(self.excluded_referrers), tuple(self.heeded_referrers))

    @cached_property
    def source_names(self) -> SourceNames:
        return read_source_names(self.own_names, self.networks)

    @cached_property
    def source_rules(self) -> SourceRules:
        return SourceRules(self.exclusions, self.source_names)

    @cached_property
    def answer_rules(self) -> AnswerRules:
        return make_answer_rules(tuple(sorted(self.own_answers.items())))


class Item:
    """A parsed row; its kind decides which attributes are set."""

    __slots__ = (
        "contact",
        "event",
        "hit",
        "id",
        "identity",
        "mark",
        "occurred_at",
        "person",
        "received_at",
        "touch",
        "view",
        "warnings",
    )

    contact: Contact
    """At the row's turn; `contact.final()` is the one after all merges."""
    mark: EventSources
    """For an event."""
    view: View
    """For a page view."""

    def __init__(self, arrival: InboxRow, identity: ItemIdentity) -> None:
        self.id = arrival.id
        self.received_at = arrival.received_at
        self.occurred_at = identity.occurred_at
        self.identity = identity
        self.warnings: list[str] | None = None
        self.event: AcceptedEvent | None = None
        self.touch: Touch | None = None
        """None if it repeats an existing touch."""
        self.hit: AcceptedHit | None = None
        self.person: AcceptedPerson | None = None

    def warn(self, warnings: Sequence[str]) -> None:
        if warnings:
            self.warnings = [*(self.warnings or ()), *warnings]

    @property
    def is_stored(self) -> bool:
        return not (self.event is self.touch is self.hit is self.person is None)


class ParsedRows:
    """Rows parsed by the Space's rules, without stored data."""

    def __init__(self, space: SpaceRules, arrivals: list[InboxRow]) -> None:
        self.space = space
        self.arrivals = arrivals
        self.items: list[Item] = []
        self.rejections: list[Rejection] = []
        self.refunds: list[tuple[InboxRow, AcceptedRefund]] = []
        self.bots: Counter[BotPeriod] = Counter()

    def still_wait(self, space: SpaceRules, versions: list[Version]) -> bool:
        """Return whether rows and rules are unchanged."""
        return self.space == space and [(row.id, row.version) for row in self.arrivals] == versions


@dataclass
class RefundChanges:
    orders: list[OrderRefunds] = field(default_factory=list[OrderRefunds])
    amounts: list[Refund] = field(default_factory=list[Refund])
    withdrawn: list[int] = field(default_factory=list[int])
    """Refunds that didn't happen."""
    order_by_stored_refund: dict[int, int] = field(default_factory=dict[int, int])
    """The new event that has taken the place of a refund's order, by refund."""
    order_by_new_refund: dict[int, int] = field(default_factory=dict[int, int])
    """The stored order of a new refund, by refund."""


class Batch:
    """Rows of a Space processed in one transaction."""

    def __init__(self, parsed: ParsedRows, unparsed: list[InboxRow], directory: Directory) -> None:
        self.parsed = parsed
        self.unparsed = unparsed
        self.space = parsed.space
        self.arrivals = parsed.arrivals + unparsed
        self.directory = directory
        self.items = parsed.items
        self.recorded = RecordedEvents(Recorded({}, {}), Recorded({}, {}))
        """Stored events that the batch may repeat."""
        self.page_view_keys: set[str] = set()
        """Stored page views that the batch may repeat."""
        self.joins = Joins()
        """Known contacts joined by the batch's browsers in the last hour."""
        self.links: list[StoredLink] = []
        """Stored identifiers that occur in the batch."""
        self.rejections = parsed.rejections
        self.duplicates: list[Duplicate] = []
        self.replaced: list[Replaced] = []
        self.events: list[StoredEvent] = []
        """Set when written."""
        self.refunds: dict[str, OrderRefunds] = {}
        """By every id of the order."""
        self.orders: dict[str, StoredOrder] = {}
        """Stored orders with refunds in the batch."""
        self.refund_changes = RefundChanges()
        self.refunded_orders: list[int] = []
        """Orders whose stored refunds changed. Set when written."""
        self.companies = Companies()
        self.profiles = Profiles()
        self.paths: dict[Contact, ContactPath] = {}
        self.late_sources: dict[int, int] = {}
        """By event id, source bits to add to stored events."""
        self.targets: list[OutboxDestination] = []
        self.clicks = Clicks()
        self.views: dict[int, View] = {}
        """Page views that could make a touchpoint, some stored."""
        self.visits: list[Visit] = []
        self.view_spans: list[TouchpointRange] = []
        """Time spans with stored touches that may change."""
        self.names: list[tuple[Contact, str, Parts]] = []
        """In order of arrival."""
        self.tag_sets = TagSets()
        self.bots = parsed.bots

    def timeline(self) -> Iterator[tuple[Item, list[Merge]]]:
        """Yield items in order of arrival, with merges they caused."""
        merges = self.directory.merges
        position = 0
        for item in self.items:
            caused: list[Merge] = []
            while position < len(merges) and merges[position].receipt_id == item.id:
                caused.append(merges[position])
                position += 1
            yield item, caused

    def family(self) -> Callable[[Contact], list[Contact]]:
        """Return a function from a final contact to itself and its stored merged contacts."""
        losers_by_survivor: dict[Contact, list[Contact]] = {}
        for merge in self.directory.merges:
            if not merge.loser.is_new:
                losers_by_survivor.setdefault(merge.loser.final(), []).append(merge.loser)

        def members(contact: Contact) -> list[Contact]:
            # The oldest contact survives, so nothing stored is merged into a new one.
            return [] if contact.is_new else [contact, *losers_by_survivor.get(contact, ())]

        return members

    def path(self, contact: Contact) -> ContactPath:
        path = self.paths.get(contact)
        if path is None:
            path = self.paths[contact] = ContactPath(self.profiles.get(contact).source_mask)
        return path


@dataclass(frozen=True, slots=True)
class BatchResult:
    rows: int = 0
    stored: int = 0
    duplicates: int = 0
    rejected: int = 0
    contacts: int = 0
    merges: int = 0
    touchpoints: int = 0
    skipped: int = field(default=0)
    """Batches skipped because another worker held the Space."""

    def __add__(self, result: BatchResult) -> BatchResult:
        names = [counter.name for counter in fields(self)]
        return BatchResult(*(getattr(self, name) + getattr(result, name) for name in names))
