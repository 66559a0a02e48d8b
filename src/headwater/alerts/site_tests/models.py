"""The knowledge of a test: what the server read of the page, and what has come in since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from headwater.spaces.sites.refusals import Refusal, RefusalReason

LIFETIME = timedelta(minutes=30)
"""How long a test looks at what comes in."""


class ScriptState(StrEnum):
    """The state of the address that a page loads the tracker from."""

    OWN = "own"
    """This installation's address."""
    PASSED_ON = "passed_on"
    """Another address that serves the tracker, such as a path of the shop's."""
    MISSING = "missing"
    """Another address, which does not serve it."""
    INSECURE = "insecure"
    """An http address on an https page, which browsers refuse."""
    LOCAL = "local"
    """An address of this computer, on a page that others open."""


class TagFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A script tag of the tracker on a page."""

    source: str
    """The address, resolved."""
    key: str
    needs_consent: bool = False
    script: ScriptState = ScriptState.OWN
    script_fault: str = ""
    """What the address answered instead, in words."""
    script_blocked_by: str = ""
    """The directive of the page's policy that keeps the script out; "" when none does."""
    reports_blocked_by: str = ""
    """Likewise, of the endpoint that the script reports to."""


class PageProbe(msgspec.Struct, frozen=True, kw_only=True):
    """A page as the server read it."""

    failure: str = ""
    """Why it could not be read, as a sentence; "" when it could."""
    final_url: str = ""
    """Where redirects led to."""
    lost_between: tuple[str, str] | None = None
    """The redirect that dropped the click id: from, to. None when it survived."""
    tags: tuple[TagFacts, ...] = ()
    keys: tuple[str, ...] = ()
    """Site keys anywhere on the page, as where a script makes the tag."""
    has_tag_manager: bool = False
    is_cut: bool = False
    """True when the page is longer than what was read of it."""


@dataclass(frozen=True)
class SiteTest:
    """The latest test of a site."""

    url: str
    """The page that is opened, without the click id."""
    click_id: str
    started_at: datetime
    receipt_mark: int
    probe: PageProbe | None

    def is_over(self, now: datetime) -> bool:
        """Return whether it has ended by itself."""
        return now >= self.started_at + LIFETIME


@dataclass(frozen=True)
class ArrivedOrder:
    """An order that has come in since the test began."""

    event_id: int
    order_id: str | None
    sender: str | None
    has_visit: bool
    """True when its contact has page views."""
    is_of_test: bool
    """True when its contact is the test's visitor."""
    event_time: datetime
    received_at: datetime


@dataclass(frozen=True)
class RepeatedOrder:
    """An order whose number another had before."""

    order_id: str | None
    event_id: int
    """The event that counts."""


@dataclass(frozen=True)
class Arrivals:
    """Everything of a site that has come in since the test began."""

    page_views: int = 0
    """Of the test: with its click id; or the site's, where that is lost on the way."""
    other_views: int = 0
    """Of the site, without the click id."""
    is_identified: bool = False
    has_token: bool = False
    """True when the visitor's browser keeps the token."""
    orders: Sequence[ArrivedOrder] = ()
    repeated: Sequence[RepeatedOrder] = ()
    waiting_seconds: float = 0.0
    """The age of the oldest item that waits to be processed."""


@dataclass(frozen=True)
class SiteFacts:
    """The site itself."""

    site_key: str
    origins: Sequence[str]
    script_url: str


@dataclass(frozen=True)
class SiteEvidence:
    """Everything that findings are made of."""

    site: SiteFacts
    test: SiteTest
    arrivals: Arrivals
    now: datetime
    refusals: Mapping[RefusalReason, Refusal] = field(default_factory=dict[RefusalReason, Refusal])
    declines_tracking: bool = False
    """True when the browser of whoever tests asks not to be tracked."""


class StepName(StrEnum):
    """The steps of a test, in order."""

    PAGE_VIEW = "page_view"
    IDENTIFY = "identify"
    PURCHASE = "purchase"


class FaultKind(StrEnum):
    """Kinds of faults of a site."""

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


@dataclass(frozen=True)
class SiteFault:
    """Something that is wrong, and what to do. Texts have names in backquotes."""

    kind: FaultKind
    title: str
    about: str
    """One sentence on what is wrong."""
    remedy: str
    """One sentence on what to do."""


@dataclass(frozen=True)
class SiteVerdict:
    """The outcome of a test so far."""

    done: frozenset[StepName]
    findings: Sequence[SiteFault]

    @property
    def is_complete(self) -> bool:
        """True when everything came in and nothing is wrong."""
        return len(self.done) == len(StepName) and not self.findings
