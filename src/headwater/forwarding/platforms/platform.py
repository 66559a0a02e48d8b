"""The interface of an ad platform to all other packages: a class with defaults. It hides everything
that differs from platform to platform, and does no I/O.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.base.masking import mask_fields
from headwater.events.accepted import CUSTOM_NAMES
from headwater.forwarding.platforms import oauth
from headwater.forwarding.platforms.consent import is_refused
from headwater.forwarding.platforms.models import Conversion, Destination, SkipReason, Verdict
from headwater.forwarding.platforms.payload_parts import count_within, lacks_currency
from headwater.forwarding.platforms.settings import ConsentSettings, PlatformSettings

DAY = 86_400.0


@dataclass(frozen=True)
class Limits:
    """Bounds of one call, and of an event's age."""

    batch: int
    """Events in one call."""
    age: float
    """The platform rejects events older than this many seconds."""
    ahead: float = 0
    """How many seconds in the future an event's time may be. 0 where the platform publishes no limit: the
    event then waits until its time.
    """
    size: int | None = None
    """Bytes of a call's body, where the platform limits them."""


class Platform(ABC):
    """An ad platform's server-side conversion interface. A platform is a subclass in a folder of
    this package; its single instance has no state.
    """

    name: ClassVar[str]
    """The name in commands and in HEADWATER_<NAME>_URL, and of its folder."""
    title: ClassVar[str]
    url: ClassVar[str]
    """The origin of its interface, unless the operator names another."""
    sources: ClassVar[frozenset[str]]
    """Listed sources whose credit makes an event this platform's."""
    settings: ClassVar[type[PlatformSettings]]
    """A destination's settings besides its secrets."""
    secrets: ClassVar[Mapping[str, str]]
    """Names of the tokens it needs, with descriptions."""
    optional_secrets: ClassVar[frozenset[str]] = frozenset()
    limits: ClassVar[Limits]

    event_names: ClassVar[Mapping[str, str]] = {}
    """Our event names → the platform's. Empty where each account has ids of its own: only
    events that a destination maps itself are sent."""
    free_names: ClassVar[bool] = False
    """True when it takes any event name: a custom event then has the Space's name for it."""
    name_pattern: ClassVar[str | None] = None
    """The pattern of the names that a destination may set for events, where they are ids."""
    name_rule: ClassVar[str] = ""
    """The same rule in words, as the rest of `The name …`."""

    kept_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields of a part whose values are not personal, and are kept."""
    kept_urls: ClassVar[frozenset[str]] = frozenset()
    """Fields of a part with a URL, which is kept without its query."""
    quoted_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields of an answer that repeat values from the request. Their values are masked before the answer is
    stored.
    """

    test_code: ClassVar[str | None] = None
    """The setting with the code of test events, on a platform where they count without a code."""
    test_code_place: ClassVar[str] = ""
    """The place where users find that code."""

    @abstractmethod
    def build(self, conversion: Conversion, destination: Destination) -> dict[str, Any]:
        """Return the conversion's part of a call."""

    @abstractmethod
    def request(self, parts: Sequence[dict[str, Any]], destination: Destination) -> EgressRequest:
        """Return the call with these parts."""

    @abstractmethod
    def classify(self, answer: EgressResponse, count: int) -> Verdict:
        """Return the verdict of an answer to a call with this many parts."""

    def skip_reason(self, conversion: Conversion, destination: Destination) -> SkipReason | None:
        """Return the reason why this platform cannot take a conversion, if any. Rules of all
        platforms (opt-out, mapping, attribution, age) are checked before.

        Without a setting for consent, an event of a person who refused is not sent: the platform
        has no field for the refusal.
        """
        settings = destination.settings
        sends_refused = isinstance(settings, ConsentSettings) and settings.consent_denied == "limit"
        if is_refused(conversion) and not sends_refused:
            return SkipReason.NO_CONSENT
        if lacks_currency(conversion):
            return SkipReason.NO_CURRENCY
        return self.missing(conversion, destination)

    def missing(self, conversion: Conversion, destination: Destination) -> SkipReason | None:
        """Return the reason when a conversion lacks a field that this platform needs."""
        return None

    def count_fitting(self, parts: Sequence[dict[str, Any]]) -> int:
        """Return the number of first parts, at least one, that fit into one call."""
        size = self.limits.size
        return len(parts) if size is None else count_within(parts, size)

    def redact(self, part: dict[str, Any]) -> dict[str, Any]:
        """Return a part without personal data: the event, its time and its amount."""
        return mask_fields(part, self.kept_fields, self.kept_urls)

    def token_request(self, destination: Destination, now: float) -> EgressRequest | None:
        """Return the call that exchanges the destination's secrets for a short-lived access token,
        at a Unix time; None where the secrets already hold a token. Raises ValueError, in words for
        the operator, when the secrets cannot be used at all.
        """
        return None

    def read_token(self, answer: EgressResponse) -> tuple[str, float] | Verdict:
        """Return the access token and its lifetime in seconds, or the verdict of the failed attempt."""
        return oauth.read_token(answer)

    def secrets_problem(self, secrets: Mapping[str, str]) -> str | None:
        """Return the fault of these secrets taken together, in words for the operator, or None."""
        return None

    def test_event_problem(self, destination: Destination) -> str | None:
        """Return the reason why a test event would count as a conversion or cannot be made, in
        words for the operator, or None.
        """
        if self.test_code is None or getattr(destination.settings, self.test_code):
            return None
        return f"Set {self.test_code} first ({self.test_code_place}): without it a trial counts."

    def name_of(self, conversion: Conversion, destination: Destination) -> str | None:
        """Return the platform's name or id for a conversion's event; None when the event is not sent."""
        label = conversion.configured_name
        return self.sent_as(conversion.event_name, destination.event_names, label)

    def sent_as(
        self, event_name: str, own_names: Mapping[str, str | None], label: str | None = None
    ) -> str | None:
        """Return the platform's name or id for events with this name, which the Space may have given a
        `label`: the destination's own choice, else the platform's default. None when they are not sent.
        """
        if event_name in own_names:
            return own_names[event_name] or None
        if self.free_names and event_name in CUSTOM_NAMES:
            return label or event_name
        return self.event_names.get(event_name)
