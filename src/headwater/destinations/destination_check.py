"""A destination tried out: one made-up conversion, sent in the platform's test or validation mode
over the very path that real ones take.
"""

from __future__ import annotations

import time
from decimal import Decimal
from typing import NamedTuple, Protocol

import msgspec

from headwater.destinations.event_names import sent_as
from headwater.egress.models import EgressError
from headwater.events.accepted import EVENT_NAMES
from headwater.masking import Mask
from headwater.platforms.models import (
    AdConsent,
    Answer,
    Bisect,
    Call,
    CallAccepted,
    CallDeferred,
    CallRefused,
    Click,
    Conversion,
    ConvertedPerson,
    CredentialsRefused,
    Destination,
    PartlyAccepted,
    Verdict,
)
from headwater.platforms.platform import Platform, TokenExchange


class HttpSender(Protocol):
    """What calls other servers."""

    async def send(self, call: Call) -> Answer:
        """The answer, whatever its status. Raises EgressError."""
        ...


class DestinationCheck(NamedTuple):
    """How a trial went."""

    ok: bool
    status: int | None
    """The platform's HTTP status; None when it was not asked, or did not answer."""
    words: str


async def try_destination(
    egress: HttpSender, destination: Destination, platform: Platform
) -> DestinationCheck:
    """Send a made-up conversion so that it does not count."""
    destination = msgspec.structs.replace(destination, test=True)
    if no := platform.why_no_trial(destination):
        return _not_sent(no)
    conversion = sample(platform, destination, time.time())
    if conversion is None:
        return _not_sent("No event is mapped: give event_names first.")
    try:
        if platform.token is not None:
            destination, refused = await _with_token(egress, destination, platform, platform.token)
            if refused is not None:
                return refused
        reason = platform.why_not(conversion, destination)
        if reason is not None:
            return _not_sent(f"The made-up event would be skipped: {reason}.")
        parts = [platform.build(conversion, destination)]
        answer = await egress.send(platform.request(parts, destination))
    except EgressError as error:
        return _not_sent(str(error))
    return _told(platform.classify(answer, 1), answer.status, platform, destination)


def sample(platform: Platform, destination: Destination, now: float) -> Conversion | None:
    """A conversion of nobody a minute before `now` (Unix seconds), under the first name that the
    destination sends, a purchase if it can be; None when it sends nothing.
    """
    names = sorted(EVENT_NAMES, key=lambda name: name != "purchase")
    name = next((n for n in names if sent_as(platform, destination.event_names, n)), None)
    if name is None:
        return None
    moment = int((now - 60) * 1000)
    return Conversion(
        event_id=0,
        dedup_id=f"headwater-test-{moment}",
        event_name=name,
        configured_name="Test",
        event_time=moment,
        person=ConvertedPerson(
            email="test@example.com", phone="+15555550100", first_name="Test", last_name="Test",
            external_id="headwater-test", city="Testville", country="US",
        ),
        amount=Decimal("1.00"),
        currency="USD",
        order_id=f"headwater-test-{moment}",
        url="https://example.com/",
        ip="192.0.2.1",
        user_agent="Mozilla/5.0 (X11; Linux x86_64) Headwater",
        consent=AdConsent(ad_user_data=True, ad_personalization=True),
        click=Click(
            touchpoint_id=0, occurred_at=moment - 60_000, source=min(platform.sources, default="")
        ),
    )  # fmt: skip


async def _with_token(
    egress: HttpSender, destination: Destination, platform: Platform, exchange: TokenExchange
) -> tuple[Destination, DestinationCheck | None]:
    """The destination with an access token, or why there is none. Raises EgressError."""
    try:
        call = exchange.request(destination, time.time())
    except ValueError as error:
        return destination, _not_sent(str(error))
    if call is None:
        return destination, None
    answer = await egress.send(call)
    token = exchange.read(answer)
    if not isinstance(token, tuple):
        return destination, _told(token, answer.status, platform, destination)
    return msgspec.structs.replace(destination, access_token=token[0]), None


def _not_sent(words: str) -> DestinationCheck:
    return DestinationCheck(ok=False, status=None, words=words)


def _told(
    verdict: Verdict, status: int, platform: Platform, destination: Destination
) -> DestinationCheck:
    if isinstance(verdict, CallAccepted):
        return DestinationCheck(
            ok=True, status=status, words=f"{platform.title} took the test event."
        )
    mask = Mask([*destination.secrets.values(), destination.access_token or ""])
    return DestinationCheck(ok=False, status=status, words=mask.text(_words(verdict)))


def _words(
    verdict: CallRefused | CallDeferred | CredentialsRefused | PartlyAccepted | Bisect,
) -> str:
    if isinstance(verdict, PartlyAccepted):
        return "; ".join([*verdict.errors.values(), *verdict.again.values()])
    return verdict.error
