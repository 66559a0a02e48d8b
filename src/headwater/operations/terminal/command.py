"""Commands as values: a function with its options, and groups of commands. `serve` keeps this module in
memory, so it imports no other module of Headwater.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from headwater.base.settings import Settings

Run = Callable[[Settings, argparse.Namespace], int]
"""The function of a command; returns its exit code."""


class Option:
    """The arguments of argparse's `add_argument`."""

    def __init__(self, *names: str, **settings: Any) -> None:
        self._names = names
        self._settings = settings

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(*self._names, **self._settings)


DATA_DIR = Option("--data-dir", metavar="D", help="where Headwater keeps its data (headwater-data)")


class Command:
    def __init__(self, run: Run, *options: Option) -> None:
        self._run = run
        self._options = options

    def fill(self, parser: argparse.ArgumentParser) -> None:
        for option in (DATA_DIR, *self._options):
            option.add_to(parser)
        parser.set_defaults(run=self._run, words=parser.prog.partition(" ")[2])


class CommandGroup:
    def __init__(self) -> None:
        self._commands: dict[str, tuple[str, Command]] = {}

    def add(self, name: str, about: str, run: Run, *options: Option) -> None:
        self._commands[name] = (about, Command(run, *options))

    def command(self, name: str, about: str, *options: Option) -> Callable[[Run], Run]:

        def register(run: Run) -> Run:
            self.add(name, about, run, *options)
            return run

        return register

    def fill(self, parser: argparse.ArgumentParser) -> None:
        parsers = parser.add_subparsers(required=True, metavar="COMMAND")
        for name, (about, command) in self._commands.items():
            command.fill(parsers.add_parser(name, help=about, description=about, allow_abbrev=False))
