"""`headwater completion SHELL`: print a shell's completion script."""

from __future__ import annotations

from argparse import Namespace

import shtab

from headwater.base.settings import Settings
from headwater.cli.commands import build_parser
from headwater.operations.terminal.command import Command, Option
from headwater.operations.terminal.output import print_text

SHELLS = ("bash", "zsh", "fish")


def complete(_settings: Settings, arguments: Namespace) -> int:
    """Print a shell's script for the complete command line."""
    print_text(shtab.complete(build_parser(), arguments.shell))
    return 0


command = Command(complete, Option("shell", choices=SHELLS, metavar="SHELL", help="|".join(SHELLS)))
