"""Values that platforms work with: a conversion with all its facts, a destination with its
settings, and the typed reasons and verdicts. Pure. HTTP requests and responses are in
base/egress/models.py.
"""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Any

import msgspec


class SkipReason(StrEnum):
    """The reason why an event is not sent to a destination."""

    DO_NOT_CAPI = "do_not_capi"
    NOT_ATTRIBUTED = "not_attributed"
    NO_MAPPING = "no_mapping"
    NO_IDENTIFIER = "no_identifier"
    NO_CONSENT = "no_consent"
    TOO_OLD = "too_old"
    NO_CURRENCY = "no_currency"
    NO_AMOUNT = "no_amount"
    PAUSED = "paused"
    REMOVED = "removed"
    DELETED = "deleted"
    REPLACED = "replaced"
    ERASED = "erased"


class AdConsent(msgspec.Struct, frozen=True):
    """The person's consent to uses of their data; None where it is not known."""

    ad_user_data: bool | None = None
    ad_personalization: bool | None = None


class Click(msgspec.Struct, frozen=True, kw_only=True):
    """The touchpoint that is credited."""

    touchpoint_id: int
    occurred_at: int
    """Milliseconds since 1970."""
    source: str | None
    """One of the listed sources; None for a paid network of the Space's own."""
    ids: dict[str, str] = {}
    """Click ids of its URL: parameter in lower case → value byte for byte."""
    cookies: dict[str, str] = {}
    left_out: tuple[str, ...] = ()
    """Values of ids and cookies that cannot be one. They are not sent, and masked all the same."""


class ConvertedPerson(msgspec.Struct, frozen=True, kw_only=True):
    """The person who converted, in plain text as stored. Platforms normalise and hash."""

    email: str | None = None
    """Trimmed and lower-case."""
    phone: str | None = None
    """E.164 with `+`, or None when the number cannot be read as one."""
    first_name: str | None = None
    last_name: str | None = None
    external_id: str | None = None
    """The latest tracking_id."""
    city: str | None = None
    state: str | None = None
    country: str | None = None
    """ISO 3166-1 alpha-2."""


class Conversion(msgspec.Struct, frozen=True, kw_only=True):
    """An event that could be sent, with its person and its credited click."""

    event_id: int
    dedup_id: str
    event_name: str
    """Our name: a standard one, or custom_event_N."""
    configured_name: str | None = None
    """The Space's name of a custom event."""
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
    """The event's own cookies, of browsing.accepted.COOKIES; they precede the click's."""
    url_click_ids: dict[str, str] = {}
    """Click ids of the event's own URL."""
    left_out: tuple[str, ...] = ()
    """As in Click."""
    click: Click | None = None

    def click_id(self, *names: str) -> str | None:
        """Return the first of these click ids: the credited touchpoint's, else the event's own
        URL's.
        """
        ids = {**self.url_click_ids, **(self.click.ids if self.click is not None else {})}
        return next((ids[name] for name in names if name in ids), None)

    def cookie(self, name: str) -> str | None:
        """Return a platform's cookie: the event's own, else the credited touchpoint's."""
        return self.cookies.get(name) or (self.click.cookies.get(name) if self.click is not None else None)


class Destination(msgspec.Struct, frozen=True, kw_only=True):
    """A platform account that events go to."""

    space_id: int
    id: int
    platform: str
    url: str
    """The origin of the platform's interface, without a trailing slash."""
    settings: Any
    """An instance of the platform's settings model."""
    secrets: dict[str, str] = {}
    """The platform's tokens. Never logged, never shown."""
    event_names: dict[str, str | None] = {}
    """Event name → the platform's name or id where it is not the default; None: not sent."""
    all_events: bool = False
    access_token: str | None = None
    """Set where the platform needs a token that has to be fetched first."""
    test: bool = False
    """True for a test event, which must not count: the platform's test mode or validation."""

    def __repr__(self) -> str:
        return f"Destination({self.platform} {self.space_id}/{self.id})"


class CallAccepted(msgspec.Struct, frozen=True):
    """The platform took all events of the call."""


class CallRefused(msgspec.Struct, frozen=True):
    """The platform took no event, and would not take the same call later."""

    error: str


class CallDeferred(msgspec.Struct, frozen=True):
    """The platform took no event, but may later. The destination as a whole waits."""

    error: str
    wait_seconds: float | None = None
    """Seconds that the platform asks us to wait, besides its Retry-After header."""


class CredentialsRefused(msgspec.Struct, frozen=True):
    """The platform does not accept the destination's credentials."""

    error: str
    account: bool = False
    """True when it says that not the token is at fault, but the account or pixel of the settings,
    which is not there or not for this token."""


class PartlyAccepted(msgspec.Struct, frozen=True):
    """The platform refused some events, by their position in the call."""

    errors: dict[int, str]
    others_taken: bool
    """True when the platform took the others, False when it refused the whole call because of
    these."""
    retryable: dict[int, str] = {}
    """Errors at positions that were not taken but may be later."""


class Bisect(msgspec.Struct, frozen=True):
    """The whole call was refused because of some events that the answer does not name."""

    error: str


Verdict = CallAccepted | CallRefused | CallDeferred | CredentialsRefused | PartlyAccepted | Bisect
