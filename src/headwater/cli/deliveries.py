"""`headwater delivery …`: deliveries of events to ad platforms."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

from msgspec.structs import asdict

from headwater.base.settings import Settings
from headwater.forwarding.deliveries import delivery_log
from headwater.forwarding.deliveries.parameters import read_replay
from headwater.forwarding.deliveries.reasons import REASONS
from headwater.forwarding.destinations.destinations import DELIVERY_STATUSES
from headwater.operations.terminal.audited import change, note_change
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import autocommit_connection, transaction
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON, SPACE
from headwater.operations.terminal.output import Output, Row
from headwater.operations.terminal.values import row_count, row_id, seconds
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.spaces import fetch_space

_COLUMNS = (
    "id",
    "destination_id",
    "platform",
    "event_id",
    "event_name",
    "kind",
    "status",
    "reason",
    "attempts",
    "http_status",
    "error",
    "created_at",
)

group = CommandGroup()


@group.command(
    "list",
    "list deliveries, the latest first",
    Option("--destination", type=row_id, metavar="ID"),
    Option("--event", type=row_id, metavar="ID"),
    Option("--status", choices=DELIVERY_STATUSES, metavar="S"),
    Option("--reason", choices=tuple(REASONS), metavar="S"),
    Option("--limit", type=row_count, default=100, metavar="N", help="at most (100)"),
    SPACE,
    JSON,
)
@prints
async def list_deliveries(settings: Settings, arguments: Namespace) -> Output:
    filters = delivery_log.DeliveryFilter(
        arguments.destination, arguments.event, arguments.status, arguments.reason
    )
    async with transaction(settings) as connection:
        await fetch_space(connection, arguments.space)
        page = await delivery_log.list_deliveries(connection, arguments.space, filters, arguments.limit, None)
    rows = [json.loads(line) for line in page.lines]
    return rows if arguments.json else [{name: row[name] for name in _COLUMNS} for row in rows]


@group.command(
    "show",
    "show a delivery with its attempts",
    Option("delivery_id", type=row_id, metavar="DELIVERY_ID"),
    SPACE,
    JSON,
)
@prints
async def show_delivery(settings: Settings, arguments: Namespace) -> Row:
    async with transaction(settings) as connection:
        return json.loads(
            await delivery_log.fetch_delivery(connection, arguments.space, arguments.delivery_id)
        )


@group.command(
    "replay",
    "queue finished deliveries again",
    Option("--destination", type=row_id, required=True, metavar="ID"),
    Option("--status", action="append", metavar="S", help="repeatable"),
    Option("--reason", action="append", metavar="S", help="repeatable"),
    Option("delivery_id", type=row_id, nargs="*", metavar="DELIVERY_ID"),
    SPACE,
    JSON,
)
@prints
async def replay(settings: Settings, arguments: Namespace) -> Row:
    values: dict[str, Any] = {
        "status": arguments.status,
        "reason": arguments.reason,
        "delivery_ids": arguments.delivery_id,
    }
    selection = read_replay({name: value for name, value in values.items() if value})
    async with change(settings, arguments) as connection:
        result = await delivery_log.replay(connection, arguments.space, arguments.destination, selection)
        replayed = AuditChange("destination", arguments.destination, after={"replayed": result.queued})
        await note_change(connection, arguments, replayed)
        return asdict(result)


@group.command(
    "wait",
    "wait until nothing is queued or due",
    Option("--timeout", type=seconds, default=60.0, metavar="S", help="seconds (60)"),
    SPACE,
)
def wait(settings: Settings, arguments: Namespace) -> int:
    """Return 0 when nothing of the Space is queued or due at an active destination, 1 after the timeout."""
    with autocommit_connection(settings) as connection:
        is_done = delivery_log.wait_until_sent(connection, arguments.space, arguments.timeout)
    return 0 if is_done else 1
