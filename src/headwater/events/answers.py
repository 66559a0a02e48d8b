from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from headwater.attribution.trained_models.choice import TrainedModelCitation
from headwater.http.answers import DataPage, Instant
from headwater.sources.answers import SELF_REPORTED
from headwater.spaces.currencies import AmountCurrency, AmountInSpaceCurrency
from headwater.spaces.known_values import ListedSource

OptionalText = str | None | UnsetType
SelfReported = Annotated[str | None, Meta(extra_json_schema={"enum": [*SELF_REPORTED, None]})]


class EventAnswer(Struct, frozen=True):
    """An event."""

    id: str
    profile_id: str
    company_id: str | None
    space_id: str
    event_name: str
    configured_name: str
    amount: float | None
    is_upsell: bool
    event_time_utc: Instant
    order_id: str | None
    order_name: str | None
    currency: AmountCurrency
    amount_in_space_currency: AmountInSpaceCurrency


class ListedEvent(Struct, frozen=True, kw_only=True):
    """An event in a list, or with `sources` its credit to one touchpoint: the chosen fields."""

    id: int
    profile_id: str | UnsetType = UNSET
    company_id: OptionalText = UNSET
    space_id: str | UnsetType = UNSET
    event_name: str | UnsetType = UNSET
    configured_name: str | UnsetType = UNSET
    amount: float | UnsetType | None = UNSET
    is_upsell: bool | UnsetType = UNSET
    event_time_utc: Instant
    order_id: OptionalText = UNSET
    order_name: OptionalText = UNSET
    event_url: OptionalText = UNSET
    heard_about_us: OptionalText = UNSET
    self_reported_source: SelfReported | UnsetType = UNSET
    ad_id: OptionalText = UNSET
    ad_name: OptionalText = UNSET
    adset_id: OptionalText = UNSET
    adset_name: OptionalText = UNSET
    campaign_id: OptionalText = UNSET
    campaign_name: OptionalText = UNSET
    account_id: OptionalText = UNSET
    account_name: OptionalText = UNSET
    touchpoint_id: int | UnsetType = UNSET
    source: ListedSource | UnsetType = UNSET
    currency: AmountCurrency | UnsetType = UNSET
    amount_in_space_currency: AmountInSpaceCurrency | UnsetType = UNSET


class EventPage(DataPage[ListedEvent], frozen=True):
    """One page of events."""

    trained_model: (
        Annotated[
            TrainedModelCitation, Meta(description="The trained model used for credit; only with markov.")
        ]
        | UnsetType
    ) = UNSET


class EventDeleted(Struct, frozen=True):
    """The event is deleted, or did not exist."""

    status: Literal[200]
    message: str
