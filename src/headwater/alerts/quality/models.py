"""Findings about a Space's data, and their texts. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from msgspec import Struct


class Severity(StrEnum):
    BAD = "bad"
    """Data does not arrive, or figures are wrong."""
    WARNING = "warning"
    """Figures are less exact than they could be."""
    NOTE = "note"


class FindingKind(StrEnum):
    DESTINATION_HELD = "destination_held"
    DELIVERIES_LATE = "deliveries_late"
    PROCESSING_LATE = "processing_late"
    EVENTS_REJECTED = "events_rejected"
    DUPLICATE_ORDERS = "duplicate_orders"
    REFUNDS_WITHOUT_ORDER = "refunds_without_order"
    LEFT_OUT_MONEY = "left_out_money"
    PAYMENT_REFERRERS = "payment_referrers"
    SELF_REFERRALS = "self_referrals"
    UNKNOWN_NETWORKS = "unknown_networks"
    UNKNOWN_UTM_SOURCES = "unknown_utm_sources"
    NO_UTM_SOURCE = "no_utm_source"
    UNTAGGED_CLICKS = "untagged_clicks"
    OWN_TAGGED_LINKS = "own_tagged_links"
    ORDERS_WITHOUT_VISIT = "orders_without_visit"
    ORDERS_WITHOUT_EMAIL = "orders_without_email"
    FUTURE_EVENTS = "future_events"
    LATE_EVENTS = "late_events"


@dataclass(frozen=True)
class FindingExample:
    text: str
    at: datetime | None = None
    event_id: int | None = None
    contact_id: int | None = None


@dataclass(frozen=True)
class FindingPart:
    """Rows with the same value, such as a host or a source."""

    value: str
    count: int
    examples: tuple[FindingExample, ...] = ()
    suggestion: str | None = None
    """The listed source that a utm_source probably means, or a network to add for it."""
    destination_id: int | None = None
    detail: str | None = None
    """The platform's message."""


@dataclass(frozen=True)
class Finding:
    kind: FindingKind
    count: int
    """The number of affected rows among those checked; some counts stop at their limit."""
    is_bounded: bool = False
    examples: tuple[FindingExample, ...] = ()
    parts: tuple[FindingPart, ...] = ()

    @property
    def severity(self) -> Severity:
        return _WORDS[self.kind].severity

    @property
    def title(self) -> str:
        return _WORDS[self.kind].title

    @property
    def about(self) -> str:
        return _WORDS[self.kind].about

    @property
    def remedy(self) -> str:
        """Advice, with commands in backquotes."""
        return _WORDS[self.kind].remedy

    @property
    def count_text(self) -> str:
        return f"{self.count:,}{'+' if self.is_bounded else ''}"


class Sample(Struct, frozen=True):
    """The checked rows: the latest of a period, up to a limit."""

    count: int
    since: datetime | None
    is_all: bool


class OrderShares(Struct, frozen=True):
    orders: int
    with_visit: int
    with_email: int
    is_all: bool = True
    """True if every order of the checked events is counted."""
    without_visit: tuple[FindingExample, ...] = ()
    without_email: tuple[FindingExample, ...] = ()


@dataclass(frozen=True)
class QualityReport:
    findings: tuple[Finding, ...]
    events: Sample
    touchpoints: Sample
    orders: OrderShares
    passed_titles: tuple[str, ...] = field(default=())
    """Titles of the kinds that were checked and not found."""


class _Words(Struct, frozen=True):
    severity: Severity
    title: str
    about: str
    remedy: str


def find_title(kind: FindingKind) -> str:
    return _WORDS[kind].title


_WORDS = {
    FindingKind.DESTINATION_HELD: _Words(
        Severity.BAD,
        "Held destinations",
        "The platform refused the credentials, so it receives no conversions.",
        "Nothing is lost yet, but platforms accept only recent events. Give the destination a new "
        "token with `headwater destination set`, then resume it.",
    ),
    FindingKind.DELIVERIES_LATE: _Words(
        Severity.BAD,
        "Destinations with late deliveries",
        "The platform responds with errors, and conversions wait.",
        "Sending continues automatically. `headwater delivery list --status retrying` has each "
        "attempt and the platform's response.",
    ),
    FindingKind.PROCESSING_LATE: _Words(
        Severity.BAD,
        "Events waiting to be processed",
        "They were accepted, but are not in reports yet.",
        "Nothing is lost. Check the service's log: the worker is not running, or cannot keep up.",
    ),
    FindingKind.EVENTS_REJECTED: _Words(
        Severity.BAD,
        "Events that could not be processed",
        "They are stored, but not in reports.",
        "Check the reasons, fix the cause, and process them again.",
    ),
    FindingKind.DUPLICATE_ORDERS: _Words(
        Severity.BAD,
        "Orders that were probably sent twice",
        "Revenue is counted twice.",
        "Send every order with the same `order_id` and the same event name from wherever it is "
        "reported, or with an `idempotency_key`: repeats are then dropped. Delete the "
        "duplicates with `DELETE /events`.",
    ),
    FindingKind.REFUNDS_WITHOUT_ORDER: _Words(
        Severity.BAD,
        "Refunds whose order is unknown",
        "Money was refunded more than 30 days ago for orders that never arrived. These refunds are "
        "not in any report.",
        "Send or import the orders: each refund counts as soon as its order arrives. Check that "
        "the orders carry the same `order_id` as the shop's refunds.",
    ),
    FindingKind.PAYMENT_REFERRERS: _Words(
        Severity.BAD,
        "Payment pages that count as sources",
        "Buyers come back from the payment page just before the order, so that it takes the credit "
        "from the ad that brought them.",
        "Exclude the host: visits that come back from it then create no touchpoint.",
    ),
    FindingKind.SELF_REFERRALS: _Words(
        Severity.BAD,
        "Your own pages as sources",
        "Visits from one of your hosts to another count as referrals, and take the credit from "
        "what brought the visitor.",
        "Add the domain to your own: visits from it then create no touchpoint.",
    ),
    FindingKind.UNKNOWN_NETWORKS: _Words(
        Severity.WARNING,
        "Paid networks that Headwater does not know",
        "The medium says paid, but no rule knows the utm_source. Reports show such visits as Paid, "
        "other, and their spend has no row of its own.",
        "Add each as a paid network of your own. Earlier visits are updated too.",
    ),
    FindingKind.UNKNOWN_UTM_SOURCES: _Words(
        Severity.WARNING,
        "Values of utm_source that no rule knows",
        "These visits count as referrals or as organic, although the links may belong to ads.",
        "Choose the source of each value. Earlier visits are updated too.",
    ),
    FindingKind.NO_UTM_SOURCE: _Words(
        Severity.WARNING,
        "Links with a campaign and no utm_source",
        "Without it the place of the link is unknown, and the visit is a referral.",
        "Add `utm_source` to these links.",
    ),
    FindingKind.UNTAGGED_CLICKS: _Words(
        Severity.WARNING,
        "Clicks that name no campaign",
        "A click id says which network a click came from, not which campaign: reports by campaign "
        "lack it. `fbclid` alone does not even say whether it was an ad, so it counts as organic.",
        "Add `utm_source`, `utm_medium` and `utm_campaign`, or the platform's own parameters, to "
        "the final address or the tracking template of the ads.",
    ),
    FindingKind.OWN_TAGGED_LINKS: _Words(
        Severity.NOTE,
        "Tagged links on your own pages",
        "The visitor was on your site already, so these tags bring no touchpoint. Other tools may "
        "overwrite the real source with them.",
        "Remove `utm_source` and the like from links between your own pages.",
    ),
    FindingKind.ORDERS_WITHOUT_VISIT: _Words(
        Severity.WARNING,
        "Orders without a visit before them",
        "They are not linked to a visit, so they are unattributed.",
        "Pass the visitor's `trk_token`, or the e-mail address that the page has identified, with "
        "the order, and make sure that the snippet is on every page, including the checkout.",
    ),
    FindingKind.ORDERS_WITHOUT_EMAIL: _Words(
        Severity.NOTE,
        "Orders without an e-mail address",
        "Buyers are not recognized on another device, and ad platforms match fewer of them.",
        "Send `email` with the order.",
    ),
    FindingKind.LEFT_OUT_MONEY: _Words(
        Severity.BAD,
        "Amounts left out of reports",
        "The exchange rate is missing, or the amount is implausibly large. The events count, their "
        "money does not.",
        "Add exchange rates (`PUT /rates`, or `headwater rates import`), and correct or delete "
        "mistaken events.",
    ),
    FindingKind.FUTURE_EVENTS: _Words(
        Severity.WARNING,
        "Events from the future",
        "They are not in reports before that time.",
        "Check the clock and the time zone of the sender. Without `event_time`, an event counts when "
        "it arrives.",
    ),
    FindingKind.LATE_EVENTS: _Words(
        Severity.NOTE,
        "Events that arrived a week late or more",
        "Reports of that week have changed since, and ad platforms accept only recent events.",
        "Send events when they happen. Imports of the past are not counted here.",
    ),
}
