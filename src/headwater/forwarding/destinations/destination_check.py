"""Test a destination with a made-up conversion in the platform's test mode."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct
from psycopg import AsyncConnection

from headwater.base.egress.access_tokens import HttpSender, TokenKeeper
from headwater.base.masking import Mask
from headwater.base.settings import Settings
from headwater.events.accepted import EVENT_NAMES
from headwater.forwarding.destinations.destinations import make_token_keeper, note_test, open_destination
from headwater.forwarding.platforms.models import (
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
from headwater.forwarding.platforms.platform import Platform
from headwater.forwarding.platforms.platform_client import CallContents, PlatformCall, PlatformClient


class DestinationCheck(Struct, frozen=True):
    """The result of a test event."""

    ok: bool
    http_status: Annotated[
        int | None, Meta(description="The platform's; null when it was not called, or did not answer.")
    ]
    message: str
    remedy: Annotated[str | None, Meta(description="What to do, where the message does not say.")]


async def check_destination(
    begin: Callable[[], AbstractAsyncContextManager[AsyncConnection]],
    egress: HttpSender,
    ids: tuple[int, int],
    settings: Settings,
    key: bytes,
) -> tuple[DestinationCheck, Any]:
    """Test a destination by ids (Space, own), and store the result. Return it with the settings. `begin`
    starts a transaction; none is open during the call. Raises NotFound, or Invalid if tokens can't be opened.
    """
    async with begin() as connection:
        platform, destination = await open_destination(connection, *ids, settings, key)
    checked = await try_destination(egress, destination, platform, make_token_keeper(begin, key))
    async with begin() as connection:
        await note_test(connection, *ids, ok=checked.ok, message=checked.message, remedy=checked.remedy)
    return checked, destination.settings


async def try_destination(
    egress: HttpSender, destination: Destination, platform: Platform, keep_token: TokenKeeper[Destination]
) -> DestinationCheck:
    """Send a made-up conversion that doesn't count."""
    destination = msgspec.structs.replace(destination, test=True)
    if problem := platform.test_event_problem(destination):
        return _make_failure(problem)
    current_time = time.time()
    conversion = sample(platform, destination, current_time)
    if conversion is None:
        return _make_failure("No event is mapped. Set event_names first.")
    contents = CallContents([platform.build(conversion, destination)])
    call = await PlatformClient(egress, keep_token).call(platform, destination, contents, current_time)
    return _make_result(call, platform, destination)


def sample(platform: Platform, destination: Destination, current_time: float) -> Conversion | None:
    """Return a conversion a minute before `current_time` (Unix seconds), preferably a purchase, or None if
    nothing is sent.
    """
    names = sorted(EVENT_NAMES, key=lambda name: name != "purchase")
    own_names = destination.event_names
    name = next((name for name in names if platform.sent_as(name, own_names)), None)
    if name is None:
        return None
    moment = int((current_time - 60) * 1000)
    return Conversion(
        event_id=0,
        dedup_id=f"headwater-test-{moment}",
        event_name=name,
        configured_name="Test",
        event_time=moment,
        person=ConvertedPerson(
            email="test@example.com",
            phone="+15555550100",
            first_name="Test",
            last_name="Test",
            external_id="headwater-test",
            city="Testville",
            country="US",
        ),
        amount=Decimal("1.00"),
        currency="USD",
        order_id=f"headwater-test-{moment}",
        url="https://example.com/",
        ip="192.0.2.1",
        user_agent="Mozilla/5.0 (X11; Linux x86_64) Headwater",
        consent=AdConsent(ad_user_data=True, ad_personalization=True),
        click=Click(touchpoint_id=0, occurred_at=moment - 60_000, source=min(platform.sources, default="")),
    )


def _make_failure(message: str, remedy: str | None = None) -> DestinationCheck:
    return DestinationCheck(ok=False, http_status=None, message=message, remedy=remedy)


def _make_result(call: PlatformCall, platform: Platform, destination: Destination) -> DestinationCheck:
    http_status = None if call.answer is None else call.answer.status
    if isinstance(call.verdict, CallAccepted):
        message = f"{platform.title} accepted the test event."
        return DestinationCheck(ok=True, http_status=http_status, message=message, remedy=None)
    message, remedy = _describe_error(call.verdict), _find_remedy(call, platform, destination)
    if call.answer is None:
        # Without a response, the message has no secrets.
        return _make_failure(message, remedy)
    mask = Mask([*destination.secrets.values(), call.token or ""])
    return DestinationCheck(ok=False, http_status=http_status, message=mask.text(message), remedy=remedy)


def _find_remedy(call: PlatformCall, platform: Platform, destination: Destination) -> str:
    title = platform.title
    fields = msgspec.structs.fields(platform.settings)
    required = [field.name.replace("_", " ") for field in fields if field.required]
    account = " and ".join(required) or "account"
    match call.verdict:
        case CredentialsRefused(account=True):
            return (
                f"{title} does not know this {account}, or the token has no access to it. Check the"
                f" {account} in {title}, and that the token belongs to it."
            )
        case CredentialsRefused():
            return (
                f"{title} rejected the token: it is mistyped, expired or belongs to another {account}."
                f" Create a new token in {title} and replace it here."
            )
        case CallDeferred() if call.answer is None:
            return (
                f"{title} could not be reached. Try again in a few minutes. If it still fails, check"
                f" that this server can connect to {urlsplit(destination.url).hostname}."
            )
        case CallDeferred():
            return f"{title} is temporarily unavailable. Try again in a few minutes."
        case _:
            return (
                f"{title} rejected the test event. Check the settings and event names in {title},"
                f" starting with the {account}."
            )


def _describe_error(
    verdict: CallRefused | CallDeferred | CredentialsRefused | PartlyAccepted | Bisect,
) -> str:
    match verdict:
        case PartlyAccepted(errors, _, retryable):
            return "; ".join([*errors.values(), *retryable.values()])
        case _:
            return verdict.error
