"""Browser payloads in the inbox, validated once by the tracker's endpoint."""

from __future__ import annotations

import msgspec

COOKIES = ("fbp", "fbc", "ttp", "scid", "rdt_uuid", "oppref", "obref")
"""First-party cookies of ad platforms, without leading underscores."""


class AcceptedVisitor(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True):
    """Identified by a token, or by a fingerprint with an IP address."""

    occurred_at: int
    """Milliseconds since 1970, server time."""
    trk_token: str | None = None
    fingerprint: str | None = None
    ip: str | None = None


class AcceptedHit(AcceptedVisitor, frozen=True, kw_only=True):
    key: str
    """A UUID, equal when the same page view is sent again."""
    url: str
    referrer: str | None = None
    event_name: str = "page_view"
    cookies: dict[str, str] = {}
    country: str | None = None
    """ISO 3166-1 alpha-2."""
    state: str | None = None
    city: str | None = None
    device_type: str | None = None
    browser: str | None = None
    os: str | None = None
    language: str | None = None
    """A BCP 47 tag, such as en-GB."""


class AcceptedLanding(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True):
    """The page view that led to the page where visitors identify themselves."""

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
    company_external_id: str | None = None
    company_name: str | None = None
    landing: AcceptedLanding | None = None
    """Only for a browser without a token, because nothing else links it to its page views."""
    address_key: str | None = None
    join_rule: str | None = None


PERSONAL_HIT_MEMBERS = frozenset(
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
"""Members of a page view removed by an erasure. The others identify no one."""

KEPT_HIT_MEMBERS = frozenset({"occurred_at", "key"})

PERSONAL_IDENTIFY_MEMBERS = frozenset(
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

KEPT_IDENTIFY_MEMBERS = frozenset({"occurred_at", "join_rule", "company_external_id", "company_name"})


class AcceptedBots(msgspec.Struct, frozen=True, kw_only=True):
    """Page views by bots, which are only counted (inbox kind `bots`)."""

    site_id: int
    hits: int
