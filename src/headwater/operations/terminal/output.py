"""Print results: JSON for programs, aligned text for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from headwater.operations.terminal.tables import align, plain_text, to_text

Row = Mapping[str, Any]
Output = Row | Sequence[Row] | str
"""An object, a list of objects, or a formatted text."""


class Noted(Struct, frozen=True):
    result: Output
    note: str


def print_result(result: Output | Noted, *, as_json: bool) -> None:
    if not isinstance(result, Noted):
        print_output(result, as_json=as_json)
        return
    print_output(result.result, as_json=as_json)
    if not as_json and sys.stderr.isatty():
        print_note(f"\n{result.note}")


def print_output(output: Output, *, as_json: bool) -> None:
    if as_json:
        print_text(json.dumps(output, default=to_text))
    elif isinstance(output, str):
        print_text(output)
    elif isinstance(output, Mapping):
        print_text(align([(name, plain_text(value)) for name, value in output.items()]))
    elif output:
        rows = [[plain_text(value) for value in row.values()] for row in output]
        print_text(align([list(output[0]), *rows]))
    else:
        print_text("none")


def print_text(text: str) -> None:
    """Print a text and flush it, also into a pipe."""
    print(text, flush=True)  # noqa: T201 # printing is this module's work


def print_note(text: str) -> None:
    """Print a line on standard error."""
    print(text, file=sys.stderr)  # noqa: T201 # printing is this module's work
