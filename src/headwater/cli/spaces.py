"""`headwater space …`: businesses with separate data."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from msgspec import to_builtins
from psycopg import AsyncConnection

from headwater.attribution.trained_models.nightly_runs import PURCHASE, start_automatic_training
from headwater.base.settings import Settings
from headwater.database.cluster import moves
from headwater.database.installation import fetch_base_url
from headwater.operations.terminal.audited import change, note_change
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import autocommit_connection, transaction
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON, NAME, SPACE
from headwater.operations.terminal.output import Noted, Output, Row
from headwater.operations.terminal.values import node_address, read_pairs
from headwater.spaces import spaces
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.audit.kinds import Kind
from headwater.spaces.models import Space
from headwater.spaces.networks import describe_network
from headwater.spaces.settings_input import read_changes

_SETTINGS = ("name", "timezone", "currency", "company_identity_mode")
_COLUMNS = ("id", *_SETTINGS, "subscription")

_CHANGES: Sequence[Kind] = (
    "space",
    "event_label",
    "field_label",
    "rate_limit",
    "source_name",
    "answer_phrase",
)
DRY_RUN = Option("--dry-run", action="store_true", help="only list the remaining steps")

group = CommandGroup()


@group.command(
    "create",
    "create a Space",
    NAME,
    Option("--timezone", metavar="Z", help="an IANA time zone (UTC)"),
    Option("--currency", metavar="C", help="a currency code (USD)"),
    Option("--company-identity-mode", metavar="M", help="auto or external_id (auto)"),
    JSON,
)
@prints
async def create_space(settings: Settings, arguments: Namespace) -> Noted:
    values = {name: getattr(arguments, name) for name in _SETTINGS}
    changes = read_changes({name: text for name, text in values.items() if text is not None})
    async with transaction(settings) as connection:
        space = await spaces.create_space(connection, changes)
        audit_change = AuditChange("space", space.id, after={"name": space.name})
        await note_change(connection, arguments, audit_change, space.id)
        await start_automatic_training(connection, space, PURCHASE, datetime.now(UTC))
        url = await fetch_base_url(connection, settings)
        row = await _describe(connection, space)
    note = (
        f"The Space has no members yet. Add an owner with\n  headwater user create --email E --space"
        f" {space.id} --role owner\nwho finds it at {url}/console/spaces/{space.id}."
    )
    return Noted(row, note)


@group.command(
    "set", "change a Space's settings", SPACE, Option("changes", nargs="+", metavar="KEY=VALUE"), JSON
)
@prints
async def set_space(settings: Settings, arguments: Namespace) -> Row:
    # Import every endpoint of the API and pages of the console, which other commands of the group don't need.
    from headwater.api.operations import RATE_LIMITS  # noqa: PLC0415
    from headwater.console.scheduled_reports.scheduled_reports import reschedule_reports  # noqa: PLC0415

    changes = read_changes(read_pairs(arguments.changes), RATE_LIMITS)
    async with change(settings, arguments, *_CHANGES) as connection:
        space = await spaces.change_space(connection, arguments.space, changes)
        if "timezone" in changes.settings:
            await reschedule_reports(connection, space, datetime.now(UTC))
        return await _describe(connection, space)


@group.command("show", "show a Space", SPACE, JSON)
@prints
async def show_space(settings: Settings, arguments: Namespace) -> Row:
    async with transaction(settings) as connection:
        return await _describe(connection, await spaces.fetch_space(connection, arguments.space))


@group.command("list", "list Spaces", JSON)
@prints
async def list_spaces(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        rows = [_settings(space) for space in await spaces.list_spaces(connection)]
    return rows if arguments.json else [{name: row[name] for name in _COLUMNS} for row in rows]


@group.command(
    "move",
    "move a Space to a node of the cluster, while it is in use",
    SPACE,
    Option(
        "--node",
        type=node_address,
        required=True,
        metavar="HOST[:PORT]",
        help="the node's name in the cluster",
    ),
    DRY_RUN,
    JSON,
)
@prints
def move_space(settings: Settings, arguments: Namespace) -> Output:
    return _place(settings, arguments, arguments.node)


@group.command("isolate", "give a Space a place of its own on its node of a cluster", SPACE, DRY_RUN, JSON)
@prints
def isolate_space(settings: Settings, arguments: Namespace) -> Output:
    return _place(settings, arguments, None)


def _place(settings: Settings, arguments: Namespace, address: tuple[str, int] | None) -> Output:
    with autocommit_connection(settings) as connection:
        steps = moves.plan_steps(connection, arguments.space, address)
        for step in () if arguments.dry_run else steps:
            moves.take_step(connection, arguments.space, step)
    return [{"step": step.step, "node": str(step.node), "neighbors": step.neighbors} for step in steps]


def _settings(space: Space) -> dict[str, Any]:
    networks = [to_builtins(describe_network(network)) for network in space.sources.networks]
    return asdict(space) | {"networks": networks}


async def _describe(connection: AsyncConnection, space: Space) -> dict[str, Any]:
    return {**_settings(space), "limits": await spaces.fetch_limits(connection, space.id)}
