"""`headwater contact erasures`: who was to be erased, and what became of it."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from psycopg import AsyncConnection

from headwater.privacy.erasures import Erasure, list_erasures
from headwater.settings import Settings
from headwater.spaces.spaces import fetch_space
from headwater.terminal.connection import in_transaction
from headwater.terminal.output import show


def erasures(settings: Settings, arguments: Namespace) -> int:
    """List a Space's latest erasures, the latest first."""

    async def act(connection: AsyncConnection) -> list[Erasure]:
        await fetch_space(connection, arguments.space)
        return await list_erasures(connection, arguments.space)

    listed = in_transaction(settings, act)
    show([asdict(erasure) for erasure in listed], as_json=arguments.json)
    return 0
