"""`headwater distribute`: place tables in a cluster of several nodes (Citus)."""

from __future__ import annotations

from argparse import Namespace

from headwater.base.settings import Settings
from headwater.database.cluster import distribution
from headwater.operations.terminal.command import Command, Option
from headwater.operations.terminal.connection import autocommit_connection
from headwater.operations.terminal.options import JSON
from headwater.operations.terminal.output import print_output


def distribute(settings: Settings, arguments: Namespace) -> int:
    """Place every table and print those that moved. With --check nothing changes, and misplaced tables return
    1; with --dry-run the planned moves are printed.
    """
    with autocommit_connection(settings) as connection:
        if arguments.check or arguments.dry_run:
            places = distribution.list_places(connection)
            moved_tables = [table for table in places if not table.is_placed]
        else:
            moved_tables = distribution.distribute(connection)
    rows = [{"table": table.table, "place": table.place} for table in moved_tables]
    print_output(rows, as_json=arguments.json)
    return 1 if arguments.check and moved_tables else 0


command = Command(
    distribute,
    Option("--check", action="store_true", help="only list misplaced tables"),
    Option("--dry-run", action="store_true", help="only list the tables that would move"),
    JSON,
)
