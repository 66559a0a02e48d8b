"""The `headwater` command."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import cast

from headwater.base.failure import Failure
from headwater.base.files import NO_ROOM
from headwater.base.settings import PREFIX, READERS, read_settings
from headwater.base.telemetry.counter_files import DIRECTORY
from headwater.cli.commands import build_parser

FAILED = 2
INTERRUPTED = 130
OUTPUT_CLOSED = 141
"""What a shell reports for a program that SIGPIPE ended."""
SESSION_VARIABLES = {"PGTZ": "UTC", "PGDATESTYLE": "ISO"}
"""libpq's defaults for sessions of this process and its children. PostgreSQL's own can be any, and decide
which instant a date without a zone is and what a timestamp's text looks like.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 for success, 1 for a negative answer (`queue wait` that
    timed out), 2 for a failure, with the reason on stderr, and OUTPUT_CLOSED if nobody reads the output.
    """
    if cast("object", sys.stdout) is None:  # closed: a new key, for example, would be shown to no one
        print("headwater: standard output is closed", file=sys.stderr)  # noqa: T201 # as below
        return FAILED
    os.environ.update(SESSION_VARIABLES)
    words = sys.argv[1:] if argv is None else argv
    first = next((word for word in words if not word.startswith("-")), "")
    if DIRECTORY in os.environ:
        from headwater.base.telemetry.shared_counters import share_counters  # noqa: PLC0415 - most commands count nothing

        share_counters(first)
    try:
        arguments = build_parser(first).parse_args(words)
        _refuse_misspelt(os.environ)
        settings = read_settings().with_data_dir(arguments.data_dir)
        code = arguments.run(settings, arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has enough
        _discard_output()
        return OUTPUT_CLOSED
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        _discard_output()
        print(f"headwater: the output cannot be written: {error.strerror}", file=sys.stderr)  # noqa: T201 # as below
        return FAILED
    except Failure as error:
        print(f"headwater: {error}", file=sys.stderr)  # noqa: T201 # the terminal is the reader
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _discard_output() -> None:
    """Python flushes again at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse_misspelt(variables: Iterable[str]) -> None:
    """Raise Failure for a variable similar to a setting's name."""
    names = {name.removeprefix(PREFIX).lower(): name for name in variables if name.startswith(PREFIX)}
    unknown = {name: full for name, full in names.items() if name not in READERS}
    if not unknown:
        return
    from headwater.http.inputs.suggestions import Names  # noqa: PLC0415 - hardly any start needs it

    known_names = Names(READERS)
    for name, full in unknown.items():
        if near_names := known_names.near(name):
            suggestion = " or ".join(PREFIX + name.upper() for name in near_names)
            raise Failure(f"{full}: there is no such setting. Did you mean {suggestion}?")
