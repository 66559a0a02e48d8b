"""`headwater order …`: compare another tool's orders with ours."""

from __future__ import annotations

from argparse import Namespace
from datetime import date

from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.cli.imports import COLUMN_MAP, NOTATION, open_file
from headwater.http.errors import Invalid, join_rules
from headwater.intake.imports.formats.choices import FileChoices
from headwater.intake.imports.formats.columns import read_mapping
from headwater.intake.imports.order_lists import OrderList, read_order_list
from headwater.intake.imports.rejected_rows import MOST_LISTED
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import transaction
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import FILE_FORMAT, JSON, SPACE
from headwater.operations.terminal.output import Row, print_note
from headwater.reports.questions.order_comparison import OrderComparison, compare_orders
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space

group = CommandGroup()


@group.command(
    "compare",
    "explain the difference to another tool's list of orders",
    SPACE,
    Option("file", metavar="FILE", help="the list as CSV or NDJSON, or - for standard input"),
    FILE_FORMAT,
    COLUMN_MAP,
    Option("--first", metavar="DAY", help="the first day of the list (its first order's)"),
    Option("--last", metavar="DAY", help="the last day of the list (its last order's)"),
    Option("--orders", action="store_true", help="print the orders that differ, not the steps"),
    *NOTATION,
    JSON,
)
@prints
async def compare(settings: Settings, arguments: Namespace) -> list[Row]:
    """Print each step from the list's totals to ours. Raise Failure for a list that cannot be read."""
    async with transaction(settings) as connection:
        space = await fetch_space(connection, arguments.space)
    order_list = _read_list(space, arguments)
    days = _read_days(order_list, arguments)
    for refusal in order_list.refused[:MOST_LISTED]:
        print_note(refusal)
    async with transaction(settings) as connection:
        try:
            result = await compare_orders(connection, space, order_list.orders, days)
        except Invalid as invalid:
            raise Failure(join_rules(invalid.errors)) from None
    return _list_differences(result) if arguments.orders else _list_steps(result)


def _read_list(space: Space, arguments: Namespace) -> OrderList:
    choices = FileChoices(read_mapping(arguments.map), decimals=arguments.decimals, dates=arguments.dates)
    with open_file(arguments) as source:
        return read_order_list(source, space, choices)


def _read_days(order_list: OrderList, arguments: Namespace) -> tuple[date, date]:
    days = (_read_day("--first", arguments.first), _read_day("--last", arguments.last))
    listed_days = order_list.days or (None, None)
    first, last = (typed_day or listed_day for typed_day, listed_day in zip(days, listed_days, strict=True))
    if first is None or last is None:
        raise Failure("the file has orders without a day: choose the period with --first and --last")
    if last < first:
        raise Failure("--last must not be before --first")
    return first, last


def _read_day(name: str, text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise Failure(f"{name} {text}: must be a day, such as 2026-12-31") from None


def _list_steps(result: OrderComparison) -> list[Row]:
    lines = [("listed", result.listed), *result.steps, ("ours", result.ours)]
    return [
        {
            "step": str(name),
            "orders": int(count.conversions),
            "revenue": count.revenue,
            "currency": result.currency,
        }
        for name, count in lines
    ]


def _list_differences(result: OrderComparison) -> list[Row]:
    return [
        {
            "order_id": difference.order_id,
            "step": str(difference.step),
            "listed": difference.listed,
            "ours": difference.ours,
        }
        for difference in result.differences
    ]
