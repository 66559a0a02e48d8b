"""Conversions, destinations, skip reasons and verdicts. Pure."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

DeliveryKind = Literal["conversion", "correction", "credit"]


class SkipReason(StrEnum):
    DO_NOT_CAPI = "do_not_capi"
    NOT_ATTRIBUTED = "not_attributed"
    NO_MAPPING = "no_mapping"
    NO_IDENTIFIER = "no_identifier"
    NO_CONSENT = "no_consent"
    TOO_OLD = "too_old"
    NO_CURRENCY = "no_currency"
    NO_AMOUNT = "no_amount"
    REFUND = "refund"
    SENT_AS_CREDIT = "sent_as_credit"
    SAME_AMOUNT = "same_amount"
    OTHER_ACCOUNT = "other_account"
    PAUSED = "paused"
    REMOVED = "removed"
    DELETED = "deleted"
    REPLACED = "replaced"
    ERASED = "erased"


class AdConsent(msgspec.Struct, frozen=True):
    """None means unknown."""

    ad_user_data: bool | None = None
    ad_personalization: bool | None = None


class Click(msgspec.Struct, frozen=True, kw_only=True):
    """The credited touchpoint."""

    touchpoint_id: int
    occurred_at: int
    """Milliseconds since 1970."""
    source: str | None
    """None for a network that the Space added."""
    ids: dict[str, str] = {}
    """By lower-case parameter, unchanged values."""
    cookies: dict[str, str] = {}
    left_out: tuple[str, ...] = ()
    """Invalid ids and cookies. Never sent, but masked."""


class ConvertedPerson(msgspec.Struct, frozen=True, kw_only=True):
    """The person of a conversion in plain text; platforms normalize and hash it."""

    email: str | None = None
    """Trimmed and lower-case."""
    phone: str | None = None
    """E.164 with `+`; None if unreadable."""
    first_name: str | None = None
    last_name: str | None = None
    external_id: str | None = None
    """The latest tracking_id."""
    city: str | None = None
    state: str | None = None
    country: str | None = None
    """ISO 3166-1 alpha-2."""


class Conversion(msgspec.Struct, frozen=True, kw_only=True):
    """An event with its person and credited click."""

    event_id: int
    dedup_id: str
    event_name: str
    """A standard name or custom_event_N."""
    configured_name: str | None = None
    """The Space's name of a custom event."""
    sent_name: str | None = None
    """The platform's name or id that it already has the conversion under."""
    event_time: int
    """Milliseconds since 1970."""
    person: ConvertedPerson = ConvertedPerson()
    amount: Decimal | None = None
    currency: str | None = None
    order_id: str | None = None
    url: str | None = None
    ip: str | None = None
    user_agent: str | None = None
    consent: AdConsent = AdConsent()
    cookies: dict[str, str] = {}
    """The event's own cookies; they precede the click's."""
    url_click_ids: dict[str, str] = {}
    """From the event's URL."""
    left_out: tuple[str, ...] = ()
    """As in Click."""
    click: Click | None = None

    @property
    def touchpoint_id(self) -> int | None:
        return None if self.click is None else self.click.touchpoint_id

    def click_id(self, *names: str) -> str | None:
        """Prefer the touchpoint to the event's URL."""
        ids = {**self.url_click_ids, **(self.click.ids if self.click is not None else {})}
        return next((ids[name] for name in names if name in ids), None)

    def cookie(self, name: str) -> str | None:
        """Prefer the event's cookie to the touchpoint's."""
        return self.cookies.get(name) or (self.click.cookies.get(name) if self.click is not None else None)


class FirstAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """What a platform was first told of a conversion that it may have, if it knows no id of ours."""

    account: str
    name: str
    event_time: int
    """Milliseconds since 1970."""
    click_id: str | None
    amount: Decimal | None
    currency: str | None


class Correction(msgspec.Struct, frozen=True):
    """An order's worth now, and where its platform has it."""

    amount: Decimal | None
    """Minus refunds. None if the event is deleted."""
    currency: str | None
    held_currency: str | None
    place: str | None
    """The account and name that the conversion was sent to."""


class FrozenCredit(msgspec.Struct, frozen=True):
    """The credit of a click when its conversion was accepted, which never changes."""

    share: Annotated[Decimal, Meta(description="From 0 to 1.")]
    paid_share: Annotated[
        Decimal, Meta(description="Of all paid touchpoints together, also of other platforms.")
    ]
    model: str
    window_days: Annotated[int, Meta(description="0 means the whole path.")]


class ClickCredit(msgspec.Struct, frozen=True):
    """Credit for a click, to send to its platform."""

    frozen: FrozenCredit
    number: int
    """Of the conversion, from 1."""
    made_at: int
    """Milliseconds since 1970."""
    campaign_id: str | None = None
    adset_id: str | None = None
    ad_id: str | None = None


class Destination(msgspec.Struct, frozen=True, kw_only=True):
    """An account to send to."""

    space_id: int
    id: int
    platform: str
    url: str
    """Of the platform's API, without a trailing slash."""
    settings: Any
    """An instance of the platform's settings."""
    secrets: dict[str, str] = {}
    """Never logged or shown."""
    event_names: dict[str, str | None] = {}
    """Own names or ids; None to not send."""
    all_events: bool = False
    access_token: str | None = None
    """For platforms that issue short-lived tokens."""
    test: bool = False
    """Use the test or validation mode, so that nothing counts."""

    def __repr__(self) -> str:
        return f"Destination({self.platform} {self.space_id}/{self.id})"


class CallAccepted(msgspec.Struct, frozen=True):
    """All events accepted."""


class CallRefused(msgspec.Struct, frozen=True):
    """No event accepted, and a retry won't help."""

    error: str


class CallDeferred(msgspec.Struct, frozen=True):
    """No event accepted for now. The destination pauses."""

    error: str
    wait_seconds: float | None = None
    """Requested in the body, in addition to Retry-After."""


class CredentialsRefused(msgspec.Struct, frozen=True):
    """Credentials rejected."""

    error: str
    account: bool = False
    """The account or pixel is unknown, or inaccessible for the token."""


class PartlyAccepted(msgspec.Struct, frozen=True):
    """Some events refused, by position."""

    errors: dict[int, str]
    others_taken: bool
    """Otherwise the call was rejected because of these."""
    retryable: dict[int, str] = {}
    """By position, errors that a retry may solve."""


class Bisect(msgspec.Struct, frozen=True):
    """Events that weren't named made the call fail."""

    error: str


Verdict = CallAccepted | CallRefused | CallDeferred | CredentialsRefused | PartlyAccepted | Bisect
