"""A touchpoint as it was accepted by itself, without an event: the payload that waits in the inbox.

Ingest writes it and the pipeline reads it; nothing between the two validates again.
"""

from __future__ import annotations

import msgspec


class AcceptedTouchpoint(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True):
    """One touchpoint, validated. Blank strings have become None; e-mail is trimmed, lower-case."""

    occurred_at: int
    """Milliseconds since 1970, UTC."""
    email: str | None = None
    trk_token: str | None = None
    fingerprint: str | None = None
    ip: str | None = None
    tracking_id: str | None = None
    source: str | None = None
    """A listed source; without one, the source comes from `url` and `referrer`."""
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
    """Fields that were sent and ignored, under the sender's names."""


PERSONAL = frozenset({"email", "trk_token", "fingerprint", "ip", "tracking_id", "warnings"})
"""The members that identify a person: erasing the person removes them from a payload."""

KEPT = frozenset(
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
"""The members that hold the time and the source: they stay with the touchpoint."""
