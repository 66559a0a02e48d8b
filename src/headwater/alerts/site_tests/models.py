"""The evidence of a test: the page, and the data received since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec
from msgspec import Struct, field

from headwater.spaces.sites.refusals import Refusal, RefusalReason

LIFETIME = timedelta(minutes=30)


class ScriptState(StrEnum):
    OWN = "own"
    PASSED_ON = "passed_on"
    """Another address that serves the tracker, such as a path of the shop's."""
    MISSING = "missing"
    INSECURE = "insecure"
    """An http address on an https page, which browsers refuse."""
    LOCAL = "local"
    """A loopback address on a page that others open."""


class TagFacts(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    """The address, resolved."""
    key: str
    needs_consent: bool = False
    script: ScriptState = ScriptState.OWN
    script_fault: str = ""
    script_blocked_by: str = ""
    """The policy directive that blocks the script; "" if it is allowed."""
    reports_blocked_by: str = ""
    """Likewise for the endpoint that the script reports to."""


class PageProbe(msgspec.Struct, frozen=True, kw_only=True):
    failure: str = ""
    """A sentence; "" on success."""
    final_url: str = ""
    """The address after redirects."""
    lost_between: tuple[str, str] | None = None
    """The redirect that dropped the click id: from, to. None if it survived."""
    tags: tuple[TagFacts, ...] = ()
    keys: tuple[str, ...] = ()
    """Site keys anywhere on the page, also in scripts that create the tag."""
    has_tag_manager: bool = False
    is_cut: bool = False
    """True if only the start of the page was read."""


class SiteTest(Struct, frozen=True):
    url: str
    """The page to open, without the click id."""
    click_id: str
    started_at: datetime
    receipt_mark: int
    probe: PageProbe | None

    def is_over(self, current_time: datetime) -> bool:
        return current_time >= self.started_at + LIFETIME


@dataclass(frozen=True)
class ArrivedOrder:
    event_id: int
    order_id: str | None
    sender: str | None
    has_visit: bool
    """True if its contact has page views."""
    is_of_test: bool
    event_time: datetime
    received_at: datetime


@dataclass(frozen=True)
class RepeatedOrder:
    order_id: str | None
    event_id: int


@dataclass(frozen=True)
class Arrivals:
    page_views: int = 0
    """Views with the test's click id, or all views where it is lost."""
    other_views: int = 0
    is_identified: bool = False
    has_token: bool = False
    orders: Sequence[ArrivedOrder] = ()
    repeated: Sequence[RepeatedOrder] = ()
    waiting_seconds: float = 0.0
    """The age of the oldest unprocessed item."""


class SiteFacts(Struct, frozen=True):
    site_key: str
    origins: Sequence[str]
    script_url: str


class SiteEvidence(Struct, frozen=True):
    site: SiteFacts
    test: SiteTest
    arrivals: Arrivals
    now: datetime
    refusals: Mapping[RefusalReason, Refusal] = field(default_factory=dict[RefusalReason, Refusal])
    declines_tracking: bool = False
    """True if the tester's browser asks not to be tracked."""


class StepName(StrEnum):
    PAGE_VIEW = "page_view"
    IDENTIFY = "identify"
    PURCHASE = "purchase"


class FaultKind(StrEnum):
    PAGE_UNREAD = "page_unread"
    TAG_ABSENT = "tag_absent"
    WRONG_KEY = "wrong_key"
    WRONG_ADDRESS = "wrong_address"
    POLICY_BLOCKS = "policy_blocks"
    CONSENT_MISSING = "consent_missing"
    ORIGIN_UNKNOWN = "origin_unknown"
    CLICK_ID_LOST = "click_id_lost"
    COOKIE_BLOCKED = "cookie_blocked"
    CLOCK_WRONG = "clock_wrong"
    ITEM_INVALID = "item_invalid"
    ORDER_WITHOUT_TOKEN = "order_without_token"  # noqa: S105 # a name
    ORDER_REPEATED = "order_repeated"
    PROCESSING_LATE = "processing_late"


class SiteFault(Struct, frozen=True):
    kind: FaultKind
    title: str
    about: str
    remedy: str


class SiteVerdict(Struct, frozen=True):
    done: frozenset[StepName]
    findings: Sequence[SiteFault]

    @property
    def is_complete(self) -> bool:
        return len(self.done) == len(StepName) and not self.findings
