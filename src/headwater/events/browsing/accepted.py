"""Reports of browsers as they were accepted: the normalised payloads that wait in the inbox.

The tracker's endpoint writes them and the pipeline reads them; nothing between validates again.
"""

from __future__ import annotations

import msgspec

COOKIES = ("fbp", "fbc", "ttp", "scid", "rdt_uuid")
"""The ad platforms' own cookies that a browser may have, without the leading underscore."""


class AcceptedVisitor(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True):
    """A visitor, as far as the browser identifies them: by a token, or by a fingerprint with the IP
    address it was seen from.
    """

    occurred_at: int
    """Milliseconds since 1970, by the server's clock."""
    trk_token: str | None = None
    fingerprint: str | None = None
    ip: str | None = None


class AcceptedHit(AcceptedVisitor, frozen=True, kw_only=True):
    """A page view (inbox kind `hit`)."""

    key: str
    """A UUID: the same page view sent again has the same."""
    url: str
    referrer: str | None = None
    event_name: str = "page_view"
    cookies: dict[str, str] = {}
    """Values of COOKIES by name, where the browser has them."""
    country: str | None = None
    """ISO 3166-1 alpha-2."""
    state: str | None = None
    city: str | None = None
    device_type: str | None = None
    """desktop, mobile, tablet, tv, console, wearable or other."""
    browser: str | None = None
    os: str | None = None
    language: str | None = None
    """A BCP 47 tag, such as en-GB."""


class AcceptedLanding(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True):
    """The page view by which a visitor came to the page on which they identify themselves."""

    occurred_at: int
    url: str
    referrer: str | None = None


class AcceptedPerson(AcceptedVisitor, frozen=True, kw_only=True):
    """A visitor who identifies themselves (inbox kind `identify`)."""

    email: str | None = None
    tracking_id: str | None = None
    full_name: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    phone: str | None = None
    profile_fields: dict[int, str] = {}
    """Slot number to value, in the form of AcceptedEvent."""
    landing: AcceptedLanding | None = None
    """Only of a browser without a token, which nothing else ties to its page views."""
    address_key: str | None = None
    join_rule: str | None = None
    """As in AcceptedEvent."""


PERSONAL_OF_HITS = frozenset(
    {
        "trk_token",
        "fingerprint",
        "ip",
        "url",
        "referrer",
        "event_name",
        "cookies",
        "country",
        "state",
        "city",
        "device_type",
        "browser",
        "os",
        "language",
    }
)
"""The members of a page view that erasing a person removes from a payload: nearly all of it. The
rest is a page view of nobody.
"""

KEPT_OF_HITS = frozenset({"occurred_at", "key"})

PERSONAL_OF_PEOPLE = frozenset(
    {
        "email",
        "tracking_id",
        "trk_token",
        "fingerprint",
        "ip",
        "full_name",
        "first_name",
        "last_name",
        "phone",
        "profile_fields",
        "landing",
        "address_key",
    }
)
"""The members that identify a person."""

KEPT_OF_PEOPLE = frozenset({"occurred_at", "join_rule"})


class AcceptedBots(msgspec.Struct, frozen=True, kw_only=True):
    """Page views by bots, which are only counted (inbox kind `bots`)."""

    site_id: int
    hits: int
