from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal
from zoneinfo import ZoneInfo

from headwater.sources.source_names import SourceNames, read_source_names


@dataclass(frozen=True)
class Space:
    id: int
    name: str
    timezone: str
    """An IANA zone; date-times without an offset are read in it."""
    currency: str
    company_identity_mode: Literal["auto", "external_id"]
    subscription: Literal["active", "inactive"]
    phone_region: str | None
    ignored_identifiers: list[str]
    own_domains: list[str]
    """The Space's own hosts, including subdomains: a visit from one has no source."""
    excluded_referrers: list[str]
    """Hosts that are no source, besides Headwater's list."""
    heeded_referrers: list[str]
    """Hosts on Headwater's list that are sources here."""
    source_names: dict[str, str]
    """Lower-case utm_source → listed source."""
    networks: list[list[Any]]
    """The Space's own paid networks, in the form that `sources` reads."""
    answer_phrases: dict[str, str]
    """Phrases of answers, in the form of `words_of` → self-reported source."""
    ad_consent: Literal["granted", "denied", "unknown"]
    half_life_days: int
    cost_rate: Decimal | None
    page_view_days: int | None
    """The age in days of deleted page views and visits; None keeps them."""
    inactive_contact_days: int | None
    """The days without activity after which a contact without conversions is deleted; None keeps them."""
    delivery_days: int | None
    log_days: int | None
    require_second_factor: bool
    """Whether members need a second factor to see it in the console."""
    event_labels: dict[str, str]
    field_labels: dict[str, str]
    """`profile_field_N` to its label; a slot without one cannot be filtered on."""

    @cached_property
    def sources(self) -> SourceNames:
        """The listed sources and its own networks."""
        return read_source_names(self.source_names, self.networks)

    @cached_property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)
