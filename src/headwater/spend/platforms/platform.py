"""The interface of an ad platform's spend reports, without I/O.

A report is a generator: it yields requests, gets the decoded answers, and returns rows. The engine adds
tokens, retries and waits, so a platform describes only its requests, pages, rows and errors.

    platform                              engine (connections/session.py)
    answer = yield request (page 1)  ───▶ token, sending, retries, throttling
                                     ◀─── decoded answer, or the generator ends with a Fault
    answer = yield request (page 2)  ───▶
    return rows
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

from headwater.base.egress.answers import is_temporary, join_error_texts, read_object, read_wait
from headwater.base.egress.calls import bearer
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.http.inputs.account_kinds import ApiKind
from headwater.spend.models import SpendRow

Result = TypeVar("Result")


class Level(StrEnum):
    """What the rows of a report are about."""

    CAMPAIGN = "campaign"
    AD = "ad"


class Days(NamedTuple):
    """Days of the account, both included."""

    first: date
    last: date


class SpendAccount(msgspec.Struct, frozen=True):
    """An ad account as its platform describes it."""

    id: str
    name: str
    currency: str
    timezone: Annotated[str | None, Meta(description="Null if the platform doesn't report it.")]
    """An IANA time zone."""


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """A connection as requests need it."""

    space_id: int
    id: int
    url: str
    """Of the platform's API, without a trailing slash."""
    settings: Any
    """An instance of the platform's settings."""
    secrets: dict[str, str] = {}
    """Never logged or shown."""
    access_token: str | None = None
    """For platforms that issue short-lived tokens."""

    def __repr__(self) -> str:
        return f"Credentials({self.space_id}/{self.id})"


class ReportRequest(NamedTuple):
    account: SpendAccount
    level: Level
    days: Days
    page_size: int


class Pause(NamedTuple):
    """Yielded by a report that the platform prepares."""

    seconds: float


class Listed(NamedTuple):
    """Yielded for a page of a list, such as an account's ads: reports of the same pull share the answer."""

    request: EgressRequest


Exchange = Generator[EgressRequest | Pause | Listed, Any, Result]


class FaultCause(StrEnum):
    """Why a platform did not answer, by what helps."""

    TOKEN = "token"  # noqa: S105 - no token
    """A new access token; if that fails too, the owner signs in again."""
    PERMISSION = "permission"
    """The owner gives the token access to the account."""
    ACCOUNT = "account"
    """The owner corrects the account, or reactivates it."""
    VERSION = "version"
    """The owner chooses a newer version of the API."""
    REFUSED = "refused"
    """Nothing we know of: the platform's words are shown."""
    THROTTLED = "throttled"
    """Waiting."""
    TEMPORARY = "temporary"
    """A retry."""
    TOO_LARGE = "too_large"
    """Fewer days, then smaller pages."""


HELD_CAUSES = frozenset({FaultCause.TOKEN, FaultCause.PERMISSION, FaultCause.ACCOUNT, FaultCause.VERSION})
"""Faults that only a person can mend: the connection waits for it."""


class Fault(Exception):
    """The platform gave no usable answer. The text has its own words, without secrets."""

    def __init__(self, cause: FaultCause, *words: Any, wait_seconds: float | None = None) -> None:
        super().__init__(join_error_texts(*words))
        self.cause = cause
        self.wait_seconds = wait_seconds
        """The time that the platform asks for."""


@dataclass(frozen=True)
class PullLimits:
    """How much is asked for at a time, and how far back."""

    days: int = 30
    """Per request."""
    window: int = 28
    """The platform may correct the spend of these last days; each pull repeats them."""
    weekly_window: int | None = None
    """Days that are repeated once a week."""
    history: int = 396
    """Days that a new connection fetches: 13 months."""
    keeps_older: bool = True
    """Whether the platform still reports days before these; if not, requests for them fail."""
    page_sizes: tuple[int, ...] = (500, 100, 50)
    """From the first to the smallest, for platforms that let one choose."""
    most_bytes: int = 32 * 1024 * 1024
    """Of an answer."""


class SpendPlatform(ApiKind, ABC):
    """An ad platform's reporting API. Its name is the platform's in the ledger, and in
    HEADWATER_<NAME>_SPEND_URL.
    """

    limits: ClassVar[PullLimits] = PullLimits()
    levels: ClassVar[tuple[Level, ...]] = (Level.AD, Level.CAMPAIGN)
    """Campaigns come last: later figures are not lower, and a campaign is never below its ads."""
    versions: ClassVar[Mapping[str, date]] = {}
    """The last day of each version of the API, as far as it is published."""
    steps: ClassVar[tuple[str, ...]] = ()
    """What to do on the platform's side before connecting, in its words."""
    gaps: ClassVar[str] = ""
    """Spend that its API doesn't report, in a sentence for owners."""

    def token_request(self, account: Credentials, current_time: float) -> EgressRequest | None:
        """Return None if not needed. Raises ValueError for the operator."""
        return None

    def authorize(self, request: EgressRequest, credentials: Credentials) -> EgressRequest:
        """Return a request with its token and other common headers."""
        token = credentials.access_token or credentials.secrets.get("access_token")
        return msgspec.structs.replace(request, headers={**request.headers, **bearer(token)})

    def decode(self, answer: EgressResponse) -> Any:
        """Return the body of a successful answer. Raises Fault."""
        body = read_object(answer)
        fault = self.find_fault(answer, {} if body is None else body)
        if fault is not None:
            raise fault
        if body is None:
            raise Fault(
                FaultCause.TOO_LARGE if answer.cut else FaultCause.TEMPORARY, "The answer is cut off."
            )
        return body

    @abstractmethod
    def find_fault(self, answer: EgressResponse, body: dict[str, Any]) -> Fault | None:
        """Return why an answer cannot be used; `body` is empty if it is not a JSON object."""

    @abstractmethod
    def read_account(self, credentials: Credentials) -> Exchange[SpendAccount]:
        """Fetch the account's name, currency and time zone."""

    @abstractmethod
    def read_rows(self, credentials: Credentials, report: ReportRequest) -> Exchange[list[SpendRow]]:
        """Fetch the rows of some days. Days without spend may have no row."""

    def find_version_end(self, version: str) -> date | None:
        """Return the last day of a version of the API, as far as it is published."""
        return self.versions.get(version)


_BY_STATUS = {
    401: FaultCause.TOKEN,
    403: FaultCause.PERMISSION,
    404: FaultCause.ACCOUNT,
    410: FaultCause.VERSION,
    426: FaultCause.VERSION,
    429: FaultCause.THROTTLED,
}


def judge_status(answer: EgressResponse, *words: Any) -> Fault:
    """Judge an answer by its status alone."""
    kind = _BY_STATUS.get(answer.status)
    if kind is None:
        kind = FaultCause.TEMPORARY if is_temporary(answer.status) else FaultCause.REFUSED
    return Fault(kind, f"HTTP {answer.status}", *words, wait_seconds=read_wait(answer))
