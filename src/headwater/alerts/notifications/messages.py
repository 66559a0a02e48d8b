"""The outbox: a message is stored with its cause, then leased, and retried until it is sent."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import msgspec
from msgspec import Struct
from psycopg import AsyncConnection

from headwater.alerts.history import AlertStep, StepKind
from headwater.alerts.notifications.channels import channels_for
from headwater.alerts.notifications.models import Notice
from headwater.alerts.rules import TEXTS
from headwater.base.dates import format_day_and_time
from headwater.database.jobs.due_spaces import DueSpaces
from headwater.database.queries import Queries, fetch_all, fetch_optional, make_cursor
from headwater.spaces.models import Space

queries = Queries(__name__, "messages.sql")
due_spaces = DueSpaces(queries["due"])

MOST_AT_ONCE = 20
PAUSES = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 180, 360, 720))
"""Between attempts: about a day in all."""
KEEP_MESSAGES = timedelta(days=30)
_PREFIXES = {StepKind.WORSENED: "Worse: ", StepKind.RETURNED: "Again: "}


class ClaimedMessage(Struct, frozen=True):
    id: int
    channel_id: int
    message_id: str
    content: dict[str, Any]
    created_at: datetime
    attempts: int

    @property
    def notice(self) -> Notice:
        return msgspec.convert(self.content, Notice)


class MessageRow(Struct, frozen=True):
    id: int
    channel_id: int
    subject: str
    created_at: datetime
    status: str
    error: str | None
    attempts: int


async def add_message(connection: AsyncConnection, space_id: int, channel_id: int, notice: Notice) -> None:
    values = {
        "space_id": space_id,
        "channel_id": channel_id,
        "message_id": uuid4().hex,
        "content": msgspec.json.encode(notice).decode(),
        "now": datetime.now(UTC),
    }
    await connection.execute(queries["add"], values)


async def announce_alerts(connection: AsyncConnection, space: Space, steps: Sequence[AlertStep]) -> None:
    """Queue for channels that subscribe to the rules."""
    for step in steps:
        notice = alert_notice(space, step)
        for channel_id in await channels_for(connection, space.id, step.rule):
            await add_message(connection, space.id, channel_id, notice)


def alert_notice(space: Space, step: AlertStep) -> Notice:
    text, base = TEXTS[step.rule], f"/console/spaces/{space.id}"
    moment = f"{format_day_and_time(step.at.astimezone(space.zone))} ({space.timezone})"
    if step.step is StepKind.ENDED:
        headline = f"{'Ended' if step.cause else 'Resolved'}: {step.title}"
        back_to_normal = [f"{space.name}: back to normal since {moment}."]
        return Notice(
            subject=f"[{space.name}] {headline}",
            headline=headline,
            paragraphs=[f"{space.name}, {moment}", step.cause] if step.cause else back_to_normal,
            link=f"{base}/alerts",
            link_text="View the history",
        )
    prefix = _PREFIXES.get(step.step, "")
    return Notice(
        subject=f"[{space.name}] {prefix}{step.title}",
        headline=f"{prefix}{step.title}",
        paragraphs=[f"{space.name}, {moment}", *([step.cause] if step.cause else []), text.advice],
        link=f"{base}/alerts",
        link_text="See what to do",
    )


async def claim(
    connection: AsyncConnection, space_id: int, current_time: datetime, lease: UUID
) -> list[ClaimedMessage]:
    values = {"space_id": space_id, "now": current_time, "lease": lease, "most": MOST_AT_ONCE}
    await connection.execute(
        queries["forget"], {"space_id": space_id, "before": current_time - KEEP_MESSAGES}
    )
    return await fetch_all(make_cursor(connection, ClaimedMessage), queries["claim"], values)


async def finish(
    connection: AsyncConnection, space_id: int, message: ClaimedMessage, result: Result, lease: UUID
) -> bool:
    """Return False if another process leased it meanwhile."""
    due_at, status = result.at, "sent"
    if result.error is not None:
        is_last = result.is_final or message.attempts > len(PAUSES)
        status = "failed" if is_last else "waiting"
        due_at += PAUSES[min(message.attempts, len(PAUSES)) - 1]
    values = {
        "space_id": space_id,
        "id": message.id,
        "lease": lease,
        "status": status,
        "error": result.error,
        "due_at": due_at,
        "now": result.at,
    }
    return await fetch_optional(connection, queries["finish"], values) is not None


class Result(Struct, frozen=True):
    at: datetime
    error: str | None = None
    """An instruction for the user; None after success."""
    is_final: bool = False


async def list_messages(connection: AsyncConnection, space_id: int, limit: int = 20) -> list[MessageRow]:
    return await fetch_all(
        make_cursor(connection, MessageRow), queries["list"], {"space_id": space_id, "most": limit}
    )
