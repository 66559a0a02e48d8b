"""`headwater delivery …`: what became of events at the ad platforms."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import asdict
from typing import Any

import psycopg
from psycopg import AsyncConnection

from headwater.cli.connect import database_url, in_transaction, told
from headwater.cli.output import show
from headwater.deliveries import delivery_log
from headwater.deliveries.parameters import read_again
from headwater.http.pagination import Page
from headwater.settings import Settings
from headwater.spaces.spaces import fetch_space

_BRIEF = (
    "id", "destination_id", "platform", "event_id", "event_name", "status", "reason", "attempts",
    "http_status", "error", "created_at",
)  # fmt: skip


def list_all(settings: Settings, arguments: Namespace) -> int:
    sought = delivery_log.DeliveryFilter(
        arguments.destination, arguments.event, arguments.status, arguments.reason
    )

    async def act(connection: AsyncConnection) -> Page:
        await fetch_space(connection, arguments.space)
        return await delivery_log.list_deliveries(
            connection, arguments.space, sought, arguments.limit, None
        )

    rows = [json.loads(line) for line in in_transaction(settings, act).lines]
    if not arguments.json:
        rows = [{name: row[name] for name in _BRIEF} for row in rows]
    show(rows, as_json=arguments.json)
    return 0


def show_one(settings: Settings, arguments: Namespace) -> int:
    async def act(connection: AsyncConnection) -> str:
        return await delivery_log.fetch_delivery(connection, arguments.space, arguments.delivery_id)

    show(json.loads(in_transaction(settings, act)), as_json=arguments.json)
    return 0


def replay(settings: Settings, arguments: Namespace) -> int:
    asked: dict[str, Any] = {
        "status": arguments.status, "reason": arguments.reason,
        "delivery_ids": arguments.delivery_id,
    }  # fmt: skip
    with told(settings):
        again = read_again({name: value for name, value in asked.items() if value})

    async def act(connection: AsyncConnection) -> delivery_log.ReplayResult:
        return await delivery_log.replay(connection, arguments.space, arguments.destination, again)

    show(asdict(in_transaction(settings, act)), as_json=arguments.json)
    return 0


def wait(settings: Settings, arguments: Namespace) -> int:
    """0 when nothing of the Space is queued or due at an active destination, 1 when time ran
    out.
    """
    url = database_url(settings)
    with told(settings), psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
        done = delivery_log.wait_until_sent(connection, arguments.space, arguments.timeout)
    return 0 if done else 1
