"""The check of a destination: one made-up conversion, sent in the platform's test or validation
mode over the very path that real ones take.
"""

from __future__ import annotations

import time
from decimal import Decimal
from typing import NamedTuple

import msgspec

from headwater.events.accepted import EVENT_NAMES
from headwater.masking import Mask
from headwater.platforms.access_tokens import HttpSender
from headwater.platforms.models import (
    AdConsent,
    Bisect,
    CallAccepted,
    CallDeferred,
    CallRefused,
    Click,
    Conversion,
    ConvertedPerson,
    CredentialsRefused,
    Destination,
    PartlyAccepted,
)
from headwater.platforms.platform import Platform
from headwater.platforms.platform_client import PlatformCall, PlatformClient


class DestinationCheck(NamedTuple):
    """The result of a check."""

    ok: bool
    status: int | None
    """The platform's HTTP status; None when it was not called, or did not answer."""
    message: str


async def try_destination(
    egress: HttpSender, destination: Destination, platform: Platform
) -> DestinationCheck:
    """Send a made-up conversion so that it does not count."""
    destination = msgspec.structs.replace(destination, test=True)
    if problem := platform.test_event_problem(destination):
        return _not_sent(problem)
    now = time.time()
    conversion = sample(platform, destination, now)
    if conversion is None:
        return _not_sent("No event is mapped: give event_names first.")
    reason = platform.skip_reason(conversion, destination)
    if reason is not None:
        return _not_sent(f"The made-up event would be skipped: {reason}.")
    parts = [platform.build(conversion, destination)]
    call = await PlatformClient(egress).call(platform, destination, parts, now)
    return _result(call, platform, destination)


def sample(platform: Platform, destination: Destination, now: float) -> Conversion | None:
    """Return a made-up conversion a minute before `now` (Unix seconds), under the first event name
    that the destination sends, a purchase if possible; None when it sends nothing.
    """
    names = sorted(EVENT_NAMES, key=lambda name: name != "purchase")
    own_names = destination.event_names
    name = next((name for name in names if platform.sent_as(name, own_names)), None)
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


def _not_sent(message: str) -> DestinationCheck:
    return DestinationCheck(ok=False, status=None, message=message)


def _result(call: PlatformCall, platform: Platform, destination: Destination) -> DestinationCheck:
    if call.answer is not None and isinstance(call.verdict, CallAccepted):
        message = f"{platform.title} took the test event."
        return DestinationCheck(ok=True, status=call.answer.status, message=message)
    message = _error(call.verdict)
    if call.answer is None:
        # Without an answer the message is our own and holds nothing secret.
        return _not_sent(message)
    mask = Mask([*destination.secrets.values(), call.token or ""])
    return DestinationCheck(ok=False, status=call.answer.status, message=mask.text(message))


def _error(
    verdict: CallAccepted
    | CallRefused
    | CallDeferred
    | CredentialsRefused
    | PartlyAccepted
    | Bisect,
) -> str:
    match verdict:
        case CallAccepted():
            return ""
        case PartlyAccepted(errors, _, retryable):
            return "; ".join([*errors.values(), *retryable.values()])
        case _:
            return verdict.error
