"""The stored facts of a Space, as plain lists: the entire input of a report.

Times are in UTC, because Python's arithmetic in other zones uses local time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo


@dataclass(frozen=True)
class TagSet:
    """A link's campaign parameters."""

    campaign_id: str | None = None
    campaign_name: str | None = None
    adset_id: str | None = None
    adset_name: str | None = None
    ad_id: str | None = None
    ad_name: str | None = None
    keyword: str | None = None


@dataclass(frozen=True)
class Touchpoint:
    id: int
    contact_id: int
    company_id: int | None
    occurred_at: datetime
    source: str
    tags: TagSet = TagSet()
    url: str | None = None
    by_hit: bool = False
    """Whether it comes from a page view."""


@dataclass(frozen=True)
class Event:
    id: int
    contact_id: int
    company_id: int | None
    event_time: datetime
    event_name: str = "purchase"
    amount: Decimal | None = None
    """The amount that counts in a report. None without one, or if it is left out."""
    is_upsell: bool = False
    from_page: bool = False
    """True as long as only a page has reported the amount."""
    stated_amount: Decimal | None = None
    """The amount in the event, if a different one counts."""
    left_out: str | None = None
    """Why its money is left out."""

    @property
    def sent_amount(self) -> Decimal | None:
        """The amount in the event, whether it counts or not."""
        return self.amount if self.stated_amount is None else self.stated_amount

    @property
    def sign(self) -> int:
        """1 for an order and -1 for a refund, based on the amount in the event."""
        says = self.sent_amount or Decimal(0)
        return (says > 0) - (says < 0)

    def counting(self, outcome: Decimal | str) -> Event:
        """Return the event with an amount that counts, or with the reason why none does."""
        if isinstance(outcome, str):
            return replace(self, amount=None, stated_amount=self.sent_amount, left_out=outcome)
        return replace(self, amount=outcome, stated_amount=self.sent_amount, left_out=None)


@dataclass(frozen=True)
class Contact:
    """A surviving contact. Contacts that were merged into it are not visible."""

    id: int
    country: str | None = None
    fields: dict[str, Any] = field(default_factory=dict[str, Any], hash=False)
    """Filled custom fields by the names of their slots."""
    name: str | None = None
    """The contact's name."""
    self_reported_source: str | None = None
    """The most recent answer to how they heard of the business."""


@dataclass
class Facts:
    """One Space."""

    zone: ZoneInfo
    events: list[Event] = field(default_factory=list[Event])
    touchpoints: list[Touchpoint] = field(default_factory=list[Touchpoint])
    visits: list[Touchpoint] = field(default_factory=list[Touchpoint])
    """With the tags of their first page views. The source is empty if the page view names none."""
    contacts: dict[int, Contact] = field(default_factory=dict[int, Contact])
    companies: dict[int, str] = field(default_factory=dict[int, str])
    """Names by ids."""
    tag_sets: list[TagSet] = field(default_factory=list[TagSet])
    """All stored ones, including those that no touchpoint uses now."""
    ad_names: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """The catalogue: names by kind (campaign, adset, ad) and id."""
    event_labels: dict[str, str] = field(default_factory=dict[str, str])
    trained_models: dict[str, TrainedModel] = field(default_factory=dict[str, "TrainedModel"])
    """By name."""

    def as_stated(self) -> Facts:
        """Return the facts with all amounts as in the events: lists have no limits."""
        events = [replace(e, amount=e.sent_amount, stated_amount=None, left_out=None) for e in self.events]
        return replace(self, events=events)

    def weights(self, name: str | None, event_names: Sequence[str]) -> dict[str, Fraction]:
        """Return the source weights of the named trained model, or of the only current model of these events.
        Without event names, any current model qualifies.
        """
        if name is not None:
            return self.trained_models[name].weights
        [trained_model] = [
            trained_model
            for trained_model in self.trained_models.values()
            if trained_model.is_current and (not event_names or trained_model.event_name in event_names)
        ]
        return trained_model.weights


@dataclass(frozen=True)
class TrainedModel:
    """Weights of sources, trained on the journeys to one kind of event."""

    event_name: str
    is_current: bool
    weights: dict[str, Fraction]
