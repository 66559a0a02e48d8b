"""Read page views: browser, source and campaign. Pure."""

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
    """A page view's source, ad and campaign, stored if it could make a touchpoint."""

    rule: str
    """The rule that chose the source; without a source, the NothingReason."""
    source_id: int | None = None
    ad: Ad = Ad()
    stale: tuple[str, ...] = ()
    """Ignored click ids of other visitors."""
    cookies: dict[str, str] = {}
    own_link: bool = False
    """True for a tagged link on the site's own pages."""


class View:
    __slots__ = (
        "campaign",
        "claims",
        "device",
        "id",
        "is_candidate",
        "is_context",
        "is_new_touch",
        "is_touch",
        "key",
        "occurred_at",
        "origin",
        "origin_id",
        "owner",
        "referrer_host",
        "url",
        "visit",
        "was_touch",
    )

    visit: Any
    """The assigned visits.Visit, which may since have been merged into another."""

    def __init__(self, view_id: int, occurred_at: int, device: str, owner: Contact) -> None:
        self.id = view_id
        self.occurred_at = occurred_at
        self.device = device
        self.owner = owner
        """The contact at the time of reading or loading."""
        self.origin_id: int | None = None
        """The stored view's first contact, if it was merged before this batch."""
        self.origin = _UNKNOWN
        self.campaign: str | None = None
        self.url: str | None = None
        self.referrer_host: str | None = None
        self.is_candidate = False
        """True if it began its visit on arrival or has a campaign. Other views make no touch."""
        self.is_context = False
        """True if loaded only for later views; it does not change."""
        self.claims = False
        self.is_touch = self.was_touch = self.is_new_touch = False
        """True if it makes a touch now; made one before the batch; made its first one within the batch."""

    @property
    def is_direct(self) -> bool:
        """True if its source is unknown. It then makes no touch soon after another."""
        return self.origin.rule == DIRECTLY

    def touch(self) -> Touch:
        origin = self.origin
        assert origin.source_id is not None
        return Touch(
            occurred_at=self.occurred_at,
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
    """Read a new page view. Keep the order of arrival: each records ad clicks that later ones may have
    copied.
    """
    view = View(visitor.receipt_id, visitor.occurred_at, hash_device(visitor), owner)
    classified = _classify(hit.url, hit.referrer, frozenset[str](), exclusions, names)
    stale_ids = (
        clicks.notice(classified.click_ids, view.device, view.occurred_at) if classified.click_ids else None
    )
    if stale_ids:
        classified = _classify(hit.url, hit.referrer, stale_ids, exclusions, names)
    outcome = classified.outcome
    is_source = isinstance(outcome, Source)
    view.origin = ViewOrigin(
        rule=outcome.rule if is_source else outcome.reason.value,
        source_id=names.numbers[outcome.name] if is_source else None,
        ad=classified.ad,
        stale=tuple(sorted(stale_ids)) if stale_ids else (),
        cookies=hit.cookies,
        own_link=classified.own_link,
    )
    # A link on the site's own pages brings no visitor, even if tagged.
    view.campaign = None if classified.own_link else classified.campaign
    view.url = hit.url
    view.referrer_host = _read_host(hit.referrer) if hit.referrer else None
    return view


def hash_device(visitor: ItemIdentity) -> str:
    """Hash the browser's identifiers to 32 hexadecimal digits. Without any, each page view is a browser."""
    return digest(visitor.trk_token or visitor.fingerprint or f"#{visitor.receipt_id}")


def digest(text: str) -> str:
    """Return the first 16 bytes of SHA-256 as 32 hexadecimal digits."""
    return sha256(text.encode()).hexdigest()[:32]


@lru_cache(maxsize=4096)
def _classify(
    url: str, referrer: str | None, stale: frozenset[str], exclusions: Exclusions, names: SourceNames
) -> Classification:
    return explain(Landing(url, referrer, stale=stale), exclusions, names)


@lru_cache(maxsize=4096)
def _read_host(referrer: str) -> str | None:
    address = read_address(referrer)
    return address.host if address is not None else None


read_origin = msgspec.json.Decoder(ViewOrigin).decode


def build_stored_view(row: tuple[Any, ...], device: str, owner: Contact) -> View:
    view_id, occurred_at, campaign, url, referrer_host, touch, origin_id, is_touch = row
    view = View(view_id, occurred_at, device, owner)
    view.campaign, view.url, view.referrer_host, view.origin_id = (campaign, url, referrer_host, origin_id)
    view.origin = read_origin(touch)
    view.is_candidate = True
    view.is_touch = view.was_touch = is_touch
    view.claims = is_touch
    return view
