from __future__ import annotations

import argparse

from headwater.operations.terminal.command import Option
from headwater.operations.terminal.values import port, process_count, row_id

SPACE = Option("--space", type=row_id, required=True, metavar="ID", help="the Space's id")
JSON = Option("--json", action="store_true", help="print JSON")
NAME = Option("--name", required=True, metavar="N")

LISTEN = (
    Option("--host", default="127.0.0.1", metavar="H", help="address (127.0.0.1)"),
    Option("--port", type=port, default=8080, metavar="P", help="port; 0 takes a free one (8080)"),
)

PROCESSES = (
    Option("--workers", type=process_count, default=1, metavar="N", help="API processes (1)"),
    Option(
        "--pipelines", type=process_count, default=1, metavar="M", help="workers, which share the Spaces (1)"
    ),
)

LEASH = Option("--leash", action="store_true", help=argparse.SUPPRESS)
"""A pipe held by the parent process: standard input ends when the parent does."""

ANNOUNCE = Option("--announce", type=int, help=argparse.SUPPRESS)
"""A pipe through which the process reports that it has started."""

FILE_FORMAT = Option("--format", choices=("ndjson", "csv"), help="if FILE's name has none")
