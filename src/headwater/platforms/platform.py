"""An ad platform to everything outside this room: a class with defaults. Everything that differs
from platform to platform is behind it, and nothing here does I/O.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from headwater.egress.models import EgressRequest, EgressResponse
from headwater.events.accepted import CUSTOM_NAMES
from headwater.masking import mask_fields
from headwater.platforms import oauth
from headwater.platforms.consent import is_refused
from headwater.platforms.models import Conversion, Destination, SkipReason, Verdict
from headwater.platforms.payload_parts import count_within, lacks_currency
from headwater.platforms.settings import ConsentSettings, PlatformSettings

DAY = 86_400.0


@dataclass(frozen=True)
class Limits:
    """Bounds of one call, and of an event's age."""

    batch: int
    """Events in one call."""
    age: float
    """Seconds after which the platform does not take an event any more."""
    ahead: float = 0
    """Seconds that an event's time may lie in the future. Where the platform publishes none, 0: the
    event waits until its time has come."""
    size: int | None = None
    """Bytes of a call's body, where the platform bounds them."""


class Platform(ABC):
    """An ad platform's server-side conversion interface. A subclass in a folder of this package is
    all there is to a platform; its one instance keeps nothing.
    """

    name: ClassVar[str]
    """As in commands and in HEADWATER_<NAME>_URL; the folder is called the same."""
    title: ClassVar[str]
    url: ClassVar[str]
    """The origin its interface is reached at unless the operator names another."""
    sources: ClassVar[frozenset[str]]
    """Listed sources whose credit makes an event this platform's."""
    settings: ClassVar[type[PlatformSettings]]
    """A destination's settings besides its secrets."""
    secrets: ClassVar[Mapping[str, str]]
    """Names of the tokens it needs, with what each is."""
    optional_secrets: ClassVar[frozenset[str]] = frozenset()
    limits: ClassVar[Limits]

    event_names: ClassVar[Mapping[str, str]] = {}
    """Our event names → the platform's. Where it has an id for each account instead, empty: only
    what a destination maps itself is sent."""
    free_names: ClassVar[bool] = False
    """True where it takes any event name: a custom event then goes under what people call it."""
    name_pattern: ClassVar[str | None] = None
    """Matches as a whole every name that a destination may give an event, where it is an id."""
    name_rule: ClassVar[str] = ""
    """The same for people, as the rest of `The name …`."""

    kept_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields of a part whose values say nothing of the person, and are kept."""
    kept_urls: ClassVar[frozenset[str]] = frozenset()
    """Fields of a part with a URL, which is kept without its query."""
    quoted_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields of an answer in which the platform repeats what it was sent. Their values are masked
    before anything of the answer is kept."""

    test_code: ClassVar[str | None] = None
    """The setting with the code that marks test events, where they count without one."""
    test_code_place: ClassVar[str] = ""
    """Where people find that code."""

    @abstractmethod
    def build(self, conversion: Conversion, destination: Destination) -> dict[str, Any]:
        """Return the conversion's part of a call."""

    @abstractmethod
    def request(self, parts: Sequence[dict[str, Any]], destination: Destination) -> EgressRequest:
        """Return the call with these parts."""

    @abstractmethod
    def classify(self, answer: EgressResponse, count: int) -> Verdict:
        """Judge the answer to a call with so many parts: the body before the status."""

    def skip_reason(self, conversion: Conversion, destination: Destination) -> SkipReason | None:
        """Return why this platform cannot take a conversion. What does not depend on the platform
        (opt-out, mapping, attribution, age) is decided before.

        Without a setting for it, an event of somebody who refused is not sent: the platform has no
        way to be told of the refusal.
        """
        settings = destination.settings
        sends_refused = isinstance(settings, ConsentSettings) and settings.consent_denied == "limit"
        if is_refused(conversion) and not sends_refused:
            return SkipReason.NO_CONSENT
        if lacks_currency(conversion):
            return SkipReason.NO_CURRENCY
        return self.missing(conversion, destination)

    def missing(self, conversion: Conversion, destination: Destination) -> SkipReason | None:
        """Return what a conversion lacks that this platform needs, such as an identifier."""
        return None

    def count_fitting(self, parts: Sequence[dict[str, Any]]) -> int:
        """Return how many of these parts, from the first and at least one, go into one call."""
        size = self.limits.size
        return len(parts) if size is None else count_within(parts, size)

    def redact(self, part: dict[str, Any]) -> dict[str, Any]:
        """Return a part fit to be shown: what happened, when and for how much, without whom it
        was.
        """
        return mask_fields(part, self.kept_fields, self.kept_urls)

    def token_request(self, destination: Destination, now: float) -> EgressRequest | None:
        """Return the call that exchanges the destination's secrets for a short-lived access token,
        at a Unix time; None where the secrets already hold a token. Raises ValueError, in words for
        the operator, when the secrets cannot be used at all.
        """
        return None

    def read_token(self, answer: EgressResponse) -> tuple[str, float] | Verdict:
        """Return the access token and the seconds it lives, or why there is none."""
        return oauth.read_token(answer)

    def secrets_problem(self, secrets: Mapping[str, str]) -> str | None:
        """Return what is wrong with these secrets taken together, in words for the operator."""
        return None

    def test_event_problem(self, destination: Destination) -> str | None:
        """Return why a test event would count as a conversion or cannot be made, in words for the
        operator.
        """
        if self.test_code is None or getattr(destination.settings, self.test_code):
            return None
        return f"Set {self.test_code} first ({self.test_code_place}): without it a trial counts."

    def name_of(self, conversion: Conversion, destination: Destination) -> str | None:
        """Return the platform's name or id for a conversion's event; None when it has none and the
        event is not sent.
        """
        label = conversion.configured_name
        return self.sent_as(conversion.event_name, destination.event_names, label)

    def sent_as(
        self, event_name: str, own_names: Mapping[str, str | None], label: str | None = None
    ) -> str | None:
        """Return the platform's name or id for events of this name, which people may call otherwise
        (`label`): the destination's own, else the platform's; None when they are not sent.
        """
        if event_name in own_names:
            return own_names[event_name] or None
        if self.free_names and event_name in CUSTOM_NAMES:
            return label or event_name
        return self.event_names.get(event_name)
