"""A Space and its settings."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal
from zoneinfo import ZoneInfo

from headwater.sources.source_names import SourceNames, read_source_names


@dataclass(frozen=True)
class Space:
    """One tenant's workspace and its settings."""

    id: int
    name: str
    timezone: str
    """An IANA zone; query date-times are read in it."""
    currency: str
    company_identity_mode: Literal["auto", "external_id"]
    subscription: Literal["active", "inactive"]
    phone_region: str | None
    ignored_identifiers: list[str]
    own_domains: list[str]
    """Hosts whose pages, and all below them, are the Space's: a visit from one has no source."""
    excluded_referrers: list[str]
    """Hosts that are no source, besides the list that ships with Headwater."""
    heeded_referrers: list[str]
    """Hosts on the list that ships with Headwater which are sources here."""
    source_names: dict[str, str]
    """Lower-case values of utm_source → the listed sources that they mean in this Space."""
    networks: list[list[Any]]
    """The Space's own paid networks, as `sources` reads them."""
    answer_phrases: dict[str, str]
    """Phrases of answers, in the form of `words_of` → the self-reported sources that they mean in this Space.
    """
    ad_consent: Literal["granted", "denied", "unknown"]
    """The consent of events that do not state one."""
    half_life_days: int
    """The half-life in days of the model time decay."""
    cost_rate: Decimal | None
    """The cost of goods in per cent of revenue; None if it is not set."""
    page_view_days: int | None
    """Days after which page views and visits are deleted; None keeps them."""
    event_labels: dict[str, str]
    """`custom_event_N` to its label."""
    field_labels: dict[str, str]
    """`profile_field_N` to its label; a slot without one cannot be filtered on."""

    @cached_property
    def sources(self) -> SourceNames:
        """Its sources: the listed ones and its own networks."""
        return read_source_names(self.source_names, self.networks)

    @cached_property
    def zone(self) -> ZoneInfo:
        """The zone itself."""
        return ZoneInfo(self.timezone)
