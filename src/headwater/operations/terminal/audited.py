"""What the audit log says of commands: the system user, and the words of the command."""

from __future__ import annotations

import getpass
import os
from argparse import Namespace
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from psycopg import AsyncConnection

from headwater.base.settings import Settings
from headwater.database.jobs.duties import INSTALLATION
from headwater.operations.terminal.connection import transaction
from headwater.spaces.accounts.members import lock_members
from headwater.spaces.audit.entries import Action, Actor, AuditChange, Way, add_entry
from headwater.spaces.audit.kinds import Kind
from headwater.spaces.audit.subjects import recording

_OF_MEMBERS = frozenset[Kind]({"member", "invitation", "assistant_token"})
"""Kinds whose changes lock the Space's members."""


@asynccontextmanager
async def change(settings: Settings, arguments: Namespace, *kinds: Kind) -> AsyncGenerator[AsyncConnection]:
    """Yield a connection in a transaction, and record what a command changes of `kinds`. Raises Failure."""
    action = make_action(arguments)
    async with transaction(settings) as connection:
        if not _OF_MEMBERS.isdisjoint(kinds):  # pages take these locks in the same order
            await lock_members(connection, action.space_id)
        async with recording(connection, action, kinds):
            yield connection


async def note_change(
    connection: AsyncConnection, arguments: Namespace, change: AuditChange, space_id: int | None = None
) -> None:
    """Record a change of a stored record, or one of `space_id` instead of the command's Space."""
    await add_entry(connection, make_action(arguments, space_id), [change])


def make_action(arguments: Namespace, space_id: int | None = None) -> Action:
    """Return the action of a command: in its Space, if it has the option."""
    own_space: int = getattr(arguments, "space", None) or INSTALLATION
    actor = Actor(way=Way.COMMAND, operator=_name_operator())
    return Action(actor, arguments.words, own_space if space_id is None else space_id)


def _name_operator() -> str:
    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return f"user {os.getuid()}"
