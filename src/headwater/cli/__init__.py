"""The `headwater` command. A command's module is imported when the command runs, so that none
pays for the others: `key create` answers in a blink, and the supervisor stays small.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from headwater.cli.parser import build_parser
from headwater.settings import SettingError, read_settings
from headwater.terminal.failure import Failure

FAILED = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns its exit code: 0 done, 1 for "no" where a command asks something
    (`queue wait` that timed out), 2 for what could not be done, with the reason on stderr.
    """
    arguments = build_parser().parse_args(argv)
    try:
        settings = read_settings().with_data_dir(arguments.data_dir)
        module, name = arguments.run
        return getattr(import_module(f"headwater.cli.{module}"), name)(settings, arguments)
    except (SettingError, Failure) as error:
        print(f"headwater: {error}", file=sys.stderr)  # noqa: T201 # the terminal is the reader
        return FAILED
    except KeyboardInterrupt:
        return 130
