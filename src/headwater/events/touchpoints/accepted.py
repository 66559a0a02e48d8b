"""A sent touchpoint in the inbox, validated once at ingest."""

from __future__ import annotations

import msgspec


class AcceptedTouchpoint(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True):
    """Blank strings become None; the email is trimmed and lower-case."""

    occurred_at: int
    """Milliseconds since 1970, UTC."""
    email: str | None = None
    trk_token: str | None = None
    fingerprint: str | None = None
    ip: str | None = None
    tracking_id: str | None = None
    source: str | None = None
    """A listed source; if None, derived from `url` and `referrer`."""
    url: str | None = None
    referrer: str | None = None
    campaign_id: str | None = None
    campaign_name: str | None = None
    adset_id: str | None = None
    adset_name: str | None = None
    ad_id: str | None = None
    ad_name: str | None = None
    account_id: str | None = None
    account_name: str | None = None
    keyword: str | None = None
    warnings: tuple[str, ...] = ()


PERSONAL_MEMBERS = frozenset({"email", "trk_token", "fingerprint", "ip", "tracking_id", "warnings"})
"""Members that identify a person, removed by an erasure."""

KEPT_MEMBERS = frozenset(
    {
        "occurred_at",
        "source",
        "url",
        "referrer",
        "campaign_id",
        "campaign_name",
        "adset_id",
        "adset_name",
        "ad_id",
        "ad_name",
        "account_id",
        "account_name",
        "keyword",
    }
)
"""Members with the time and the source, kept by an erasure."""
