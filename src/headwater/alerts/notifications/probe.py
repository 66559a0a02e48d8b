"""The test of a channel: a real message, sent while the user waits."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

from headwater.alerts.notifications.channels import EMAIL, ChannelTarget, fetch_target, note_result
from headwater.alerts.notifications.messages import Result
from headwater.alerts.notifications.models import Notice
from headwater.alerts.notifications.sender import Outlet
from headwater.database.pool import Database
from headwater.http.errors import NotFound
from headwater.spaces.models import Space

TEST_SECONDS = 12.0
UNCONFIRMED = "The address is not confirmed yet: its owner must open the link in the e-mail."


async def try_channel(database: Database, outlet: Outlet, space: Space, channel_id: int) -> Result:
    async with database.connection() as connection:
        target = await fetch_target(connection, space.id, channel_id)
    if target is None:
        raise NotFound("Channel")
    if target.kind == EMAIL and target.confirmed_at is None:
        return Result(datetime.now(UTC), UNCONFIRMED, is_final=True)
    result = await outlet.send(space.id, target, _notice(space, target), uuid4().hex)
    async with database.connection() as connection:
        await note_result(connection, space.id, channel_id, result.at, result.error)
    return result


def confirmation_notice(space: Space, token: str, brand: str) -> Notice:
    """Ask the owner of an address that is no member's."""
    return Notice(
        subject=f"Do you want alerts and reports of {space.name}?",
        headline=f"Do you want alerts and reports of {space.name}?",
        paragraphs=[
            f"Someone at {space.name} wants {brand} to send them to this address.",
            "Nothing else is sent unless you agree. If you don't want them, ignore this e-mail.",
        ],
        link=f"/mail/{token}",
        link_text="Agree, or refuse",
    )


def _notice(space: Space, target: ChannelTarget) -> Notice:
    return Notice(
        subject=f"[{space.name}] Test of the channel {target.name}",
        headline=f"Test of the channel {target.name}",
        paragraphs=[f"Alerts and reports of {space.name} are sent here. You don't need to do anything."],
        link=f"/console/spaces/{space.id}/alerts",
        link_text="Open its alerts",
    )
