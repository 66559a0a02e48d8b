"""`headwater reports …`: derived data behind reports."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import Any

from psycopg import Connection

from headwater.attribution.paths.upkeep import check_space, rebuild_space
from headwater.base.settings import Settings
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import autocommit_connection
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON
from headwater.operations.terminal.output import Output, print_output
from headwater.operations.terminal.values import row_id
from headwater.spaces.spaces import list_space_ids

SPACES = Option("--space", type=row_id, metavar="ID", help="the Space's id (all Spaces)")

group = CommandGroup()


@group.command("check", "compare the data of reports with the events", SPACES, JSON)
def check(settings: Settings, arguments: Namespace) -> int:
    """Return 0 if every report is right, 1 otherwise. Days read from the tables, because they are pending,
    damaged or missing, are right.
    """
    lines: list[dict[str, object]] = []
    with autocommit_connection(settings) as connection:
        for space_id in _spaces(connection, arguments):
            days = [asdict(day) for day in check_space(connection, space_id)]
            lines.append(
                {
                    "space_id": space_id,
                    "days": len(days),
                    **{
                        name: sum(day[name] for day in days)
                        for name in ("events", "pending", "wrong", "damaged")
                    },
                }
            )
    print_output(lines, as_json=arguments.json)
    return 1 if any(line["wrong"] for line in lines) else 0


@group.command("rebuild", "rebuild the data of reports from the events", SPACES, JSON)
@prints
def rebuild(settings: Settings, arguments: Namespace) -> Output:
    """Rebuild all segments; reports stay right meanwhile."""
    lines: list[dict[str, object]] = []
    with autocommit_connection(settings) as connection:
        for space_id in _spaces(connection, arguments):
            steps = sum(1 for _ in rebuild_space(connection, space_id))
            lines.append({"space_id": space_id, "steps": steps})
    return lines


def _spaces(connection: Connection[Any], arguments: Namespace) -> list[int]:
    if arguments.space:
        return [arguments.space]
    return list_space_ids(connection)
