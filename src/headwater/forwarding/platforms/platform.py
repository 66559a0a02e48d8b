"""The interface of an ad platform, without I/O."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import msgspec

from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.base.masking import mask_fields
from headwater.events.accepted import CUSTOM_NAMES
from headwater.forwarding.platforms.consent import is_refused
from headwater.forwarding.platforms.models import ClickCredit, Conversion, Destination, SkipReason, Verdict
from headwater.forwarding.platforms.payload_parts import count_within, lacks_currency
from headwater.forwarding.platforms.settings import ConsentSettings
from headwater.forwarding.platforms.verdicts import ReasonMeaning, VerdictAnswer, VerdictsPending
from headwater.http.inputs.account_kinds import ApiKind

DAY = 86_400.0


@dataclass(frozen=True)
class Limits:
    """Limits of calls and events."""

    batch: int
    """Per call."""
    age: float
    """The maximum age of events, in seconds."""
    future: float = 0
    """Seconds that an event may be in the future; 0 if unpublished."""
    size: int | None = None
    """Bytes of a call's body."""


@dataclass(frozen=True)
class Corrections:
    """How a platform takes corrections of a conversion's amount."""

    age: float
    """The maximum age of the conversion, in seconds."""
    accepted: Literal["delivered", "counted"] = "delivered"
    """The status of a delivery that the platform is known to have."""
    are_separate: bool = False
    """Whether calls have either conversions or corrections."""


@dataclass(frozen=True)
class CreditReports:
    """How a platform takes an advertiser's own credit for its clicks."""

    age: float
    """The maximum age of the conversion, in seconds."""
    ids: frozenset[str]
    """Click ids and cookies; a touch without one gets none."""
    replaces_conversion: bool = False
    """Whether a sale is sent as its credits alone. Otherwise they refer to the conversion."""


class Platform(ApiKind, ABC):
    """A server-side conversion API, one stateless instance per folder. Its name is also in
    HEADWATER_<NAME>_URL.
    """

    sources: ClassVar[frozenset[str]]
    """Built-in sources whose credited events it receives."""
    limits: ClassVar[Limits]

    event_names: ClassVar[Mapping[str, str]] = {}
    """Empty if accounts have their own ids: then only mapped events are sent."""
    free_names: ClassVar[bool] = False
    """Any event name is accepted, so custom events use the Space's label."""
    name_pattern: ClassVar[str | None] = None
    """If names are ids."""
    name_rule: ClassVar[str] = ""
    """In words, to follow `The name …`."""

    kept_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields that aren't personal, and are stored."""
    kept_urls: ClassVar[frozenset[str]] = frozenset()
    """Fields with a URL, stored without its query."""
    quoted_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields of responses that repeat request values, which are masked."""

    repeat_click: ClassVar[str | None] = None
    """The click id that it recognizes a repeated conversion by, together with its name and time. None if it
    does so by our id.
    """

    corrections: ClassVar[Corrections | None] = None
    """None if what it has cannot be corrected."""

    credits: ClassVar[CreditReports | None] = None
    """None if it takes no credit. Otherwise its settings are CreditSettings."""

    verdict_reasons: ClassVar[Mapping[str, ReasonMeaning]] = {}
    """Reasons of later verdicts, if the platform publishes them."""

    test_code: ClassVar[str | None] = None
    """The setting with the code without which test events count."""
    test_code_place: ClassVar[str] = ""
    """Where users find the test code."""
    has_test_mode: ClassVar[bool] = True
    """False if a test event would count as a conversion."""

    @abstractmethod
    def build(self, conversion: Conversion, destination: Destination) -> dict[str, Any]:
        """Return the conversion's part of a call."""

    @abstractmethod
    def request(self, parts: Sequence[dict[str, Any]], destination: Destination) -> EgressRequest:
        """Return the request with these parts."""

    @abstractmethod
    def classify(self, answer: EgressResponse, count: int) -> Verdict:
        """Return the verdict; `count` is the number of parts in the call."""

    def build_correction(
        self, conversion: Conversion, destination: Destination, moment: float
    ) -> dict[str, Any]:
        """Return a correction's part of a call. The conversion has the amount to correct to, None to take it
        back; `moment` is the time of the correction, in Unix seconds. Only called with `corrections`.
        """
        raise NotImplementedError  # each platform with `corrections` overrides it

    def build_credit(
        self, conversion: Conversion, destination: Destination, credit: ClickCredit
    ) -> dict[str, Any]:
        """Return a credit's part of a call. The conversion has the click. Only called with `credits`."""
        raise NotImplementedError  # each platform with `credits` overrides it

    def correction_request(self, parts: Sequence[dict[str, Any]], destination: Destination) -> EgressRequest:
        """Return the request with these corrections, if they are separate."""
        return self.request(parts, destination)

    def read_request_id(self, answer: EgressResponse) -> str | None:
        """Return the id to ask for verdicts by, None if the platform publishes none."""
        return None

    def verdict_request(self, request_id: str, destination: Destination) -> EgressRequest | None:
        return None

    def read_verdicts(
        self, answer: EgressResponse, parts: Mapping[int, dict[str, Any] | None]
    ) -> VerdictAnswer:
        """Return verdicts on `parts`: stored parts of the request by position, None if erased."""
        return VerdictsPending()

    def skip_reason(self, conversion: Conversion, destination: Destination) -> SkipReason | None:
        """Return why the platform can't take a conversion, after the common rules (opt-out, mapping,
        attribution, age).

        Without a consent setting, events of people who refused aren't sent.
        """
        settings = destination.settings
        sends_refused = isinstance(settings, ConsentSettings) and settings.consent_denied == "limit"
        if is_refused(conversion) and not sends_refused:
            return SkipReason.NO_CONSENT
        if lacks_currency(conversion):
            return SkipReason.NO_CURRENCY
        return self.find_missing_data(conversion, destination)

    def find_missing_data(self, conversion: Conversion, destination: Destination) -> SkipReason | None:
        return None

    def count_fitting(self, parts: Sequence[dict[str, Any]]) -> int:
        """Return how many first parts, at least one, fit in a call."""
        size = self.limits.size
        return len(parts) if size is None else count_within(parts, size)

    def redact(self, content: dict[str, Any]) -> dict[str, Any]:
        """Return a part without personal data."""
        return mask_fields(content, self.kept_fields, self.kept_urls)

    def token_request(self, destination: Destination, current_time: float) -> EgressRequest | None:
        """Return None if not needed. Raises ValueError for the operator."""
        return None

    def test_event_problem(self, destination: Destination) -> str | None:
        """Explain why a test event is impossible or would count, for the operator."""
        if not self.has_test_mode:
            return f"{self.title} has no test mode: a test event would count as a conversion."
        if self.test_code is None or getattr(destination.settings, self.test_code):
            return None
        return f"Set {self.test_code} first ({self.test_code_place}): without it, test events count."

    def sends_credit_only(self, destination: Destination) -> bool:
        is_on = getattr(destination.settings, "credit_model", "off") != "off"
        return is_on and self.credits is not None and self.credits.replaces_conversion

    def skip_correction(self, conversion: Conversion, destination: Destination) -> SkipReason | None:
        """Return why a correction of a conversion that the platform has is not sent."""
        return self.skip_reason(conversion, destination)

    def find_place(self, conversion: Conversion, destination: Destination) -> str:
        """Return the account and name that a conversion is sent to."""
        return f"{self.find_account(destination)}/{self.find_name(conversion, destination)}"

    def find_account(self, destination: Destination) -> str:
        """Return the settings without which no account would be known."""
        required = (field.name for field in msgspec.structs.fields(self.settings) if field.required)
        return "/".join(str(getattr(destination.settings, name)) for name in required)

    def find_name(self, conversion: Conversion, destination: Destination) -> str | None:
        """Return None if not sent."""
        if conversion.sent_name is not None:
            return conversion.sent_name
        label = conversion.configured_name
        return self.sent_as(conversion.event_name, destination.event_names, label)

    def sent_as(
        self, event_name: str, own_names: Mapping[str, str | None], label: str | None = None
    ) -> str | None:
        """Prefer the destination's own name or id; `label` is the Space's name. None means not sent."""
        if event_name in own_names:
            return own_names[event_name] or None
        if self.free_names and event_name in CUSTOM_NAMES:
            return label or event_name
        return self.event_names.get(event_name)
