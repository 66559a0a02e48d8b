"""Read page views: their browser, their source and their campaign. Pure."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import Any

import msgspec

from headwater.events.browsing.accepted import AcceptedHit
from headwater.events.browsing.clicks import Clicks
from headwater.events.touchpoints.models import DIRECTLY, Touch
from headwater.people.identity.directory import Contact
from headwater.people.identity.resolution import ItemIdentity
from headwater.sources.addresses import read_address
from headwater.sources.catalogue import SOURCE_IDS
from headwater.sources.classify import explain
from headwater.sources.evidence import Landing
from headwater.sources.exclusions import Exclusions
from headwater.sources.outcomes import Ad, Classification, Source
from headwater.sources.source_names import SourceNames


class ViewOrigin(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The source of a page view with its ad and campaign, as stored with a view that could make a
    touchpoint.
    """

    rule: str
    """The rule that named the source, or, without a source, the NothingReason."""
    source_id: int | None = None
    ad: Ad = Ad()
    stale: tuple[str, ...] = ()
    """Click ids that were ignored, as they belong to somebody else's click."""
    cookies: dict[str, str] = {}
    own_link: bool = False
    """True when the link was tagged, and one of the site's own pages had it."""


class View:
    """A page view, as far as visits and touchpoints are concerned."""

    __slots__ = (
        "at",
        "campaign",
        "claims",
        "device",
        "id",
        "is_candidate",
        "is_context",
        "is_touch",
        "key",
        "made",
        "origin",
        "origin_id",
        "owner",
        "referrer_host",
        "url",
        "visit",
        "was_touch",
    )

    visit: Any
    """The visits.Visit it was placed in, which may have become part of another since."""

    def __init__(self, view_id: int, at: int, device: str, owner: Contact) -> None:
        self.id = view_id
        self.at = at
        self.device = device
        self.owner = owner
        """The contact it had when it was read, or loaded."""
        self.origin_id: int | None = None
        """The first contact of a stored view, where that was merged before the batch."""
        self.origin = _UNKNOWN
        self.campaign: str | None = None
        self.url: str | None = None
        self.referrer_host: str | None = None
        self.is_candidate = False
        """True when it began its visit when it came, or has a campaign; others make no touch."""
        self.is_context = False
        """True when it was loaded for the views that follow it; it does not change itself."""
        self.claims = False
        """True when its visit lets it make a touch."""
        self.is_touch = self.was_touch = self.made = False
        """True when it makes a touch now; made one before the batch; made one within the batch."""

    @property
    def is_direct(self) -> bool:
        """True when its source is unknown: then it makes no touch close after another."""
        return self.origin.rule == DIRECTLY

    def touch(self) -> Touch:
        """The touch it makes. Its origin must have a source."""
        origin = self.origin
        assert origin.source_id is not None
        return Touch(
            at=self.at,
            source_id=origin.source_id,
            source_rule=origin.rule,
            ad=origin.ad,
            url=self.url,
            referrer_host=self.referrer_host,
            cookies=origin.cookies or None,
        )


_UNKNOWN = ViewOrigin(DIRECTLY, SOURCE_IDS["direct"])


def read_view(
    hit: AcceptedHit,
    visitor: ItemIdentity,
    owner: Contact,
    clicks: Clicks,
    exclusions: Exclusions,
    names: SourceNames,
) -> View:
    """Read a page view that arrives. Views must be read in order of arrival, as each records clicks
    on ads that later ones may have copied.
    """
    view = View(visitor.receipt_id, visitor.at, device_of(visitor), owner)
    classified = _explained(hit.url, hit.referrer, frozenset[str](), exclusions, names)
    stale = clicks.notice(classified.click_ids, view.device, view.at) if classified.click_ids else None
    if stale:
        classified = _explained(hit.url, hit.referrer, stale, exclusions, names)
    outcome = classified.outcome
    is_source = isinstance(outcome, Source)
    view.origin = ViewOrigin(
        rule=outcome.rule if is_source else outcome.reason.value,
        source_id=names.numbers[outcome.name] if is_source else None,
        ad=classified.ad,
        stale=tuple(sorted(stale)) if stale else (),
        cookies=hit.cookies,
        own_link=classified.own_link,
    )
    # A link on one of the site's own pages brings nobody, however it is tagged.
    view.campaign = None if classified.own_link else classified.campaign
    view.url = hit.url
    view.referrer_host = _host(hit.referrer) if hit.referrer else None
    return view


def device_of(visitor: ItemIdentity) -> str:
    """The browser as a hash of its identifiers, which names nobody, in a UUID's digits. A page view
    without identifiers has a browser of its own.
    """
    known_by = visitor.trk_token or visitor.fingerprint or f"#{visitor.receipt_id}"
    return digest(known_by)


def digest(text: str) -> str:
    """The first 16 bytes of SHA-256, as a UUID's digits."""
    return sha256(text.encode()).hexdigest()[:32]


@lru_cache(maxsize=4096)
def _explained(
    url: str, referrer: str | None, stale: frozenset[str], exclusions: Exclusions, names: SourceNames
) -> Classification:
    return explain(Landing(url, referrer, stale=stale), exclusions, names)


@lru_cache(maxsize=4096)
def _host(referrer: str) -> str | None:
    address = read_address(referrer)
    return address.host if address is not None else None


read_origin = msgspec.json.Decoder(ViewOrigin).decode
"""Reads the stored form of a ViewOrigin."""


def stored_view(row: tuple[Any, ...], device: str, owner: Contact) -> View:
    """A stored page view that could make a touchpoint, from a row of the columns that browsing.sql
    reads of one.
    """
    view_id, at, campaign, url, referrer_host, touch, origin_id, is_touch = row
    view = View(view_id, at, device, owner)
    view.campaign, view.url, view.referrer_host, view.origin_id = (campaign, url, referrer_host, origin_id)
    view.origin = read_origin(touch)
    view.is_candidate = True
    view.is_touch = view.was_touch = is_touch
    view.claims = is_touch
    return view
