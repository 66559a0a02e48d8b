"""All commands by first word. A command's module is imported only when used, so `key create` starts fast and
the supervisor stays small.
"""

from __future__ import annotations

import argparse
import gc
from importlib import import_module
from typing import NamedTuple

from headwater import __version__
from headwater.operations.terminal.command import Command, CommandGroup


class CommandEntry(NamedTuple):
    name: str
    about: str
    place: str
    """`module:variable`, within this package."""

    def load(self) -> Command | CommandGroup:
        module, _, variable = self.place.partition(":")
        gc.disable()  # what modules create while they load lives on
        loaded = import_module(f"headwater.cli.{module}")
        gc.enable()
        return getattr(loaded, variable)


COMMANDS = (
    CommandEntry("serve", "run everything", "service.serve:command"),
    CommandEntry("demo", "run everything, with sample data", "demo:command"),
    CommandEntry("reload", "continue with the installed version", "service.reload:command"),
    CommandEntry("api", "run one API process", "service.api:command"),
    CommandEntry("worker", "run one worker", "service.worker:command"),
    CommandEntry(
        "forwarder", "send events to ad platforms while there are some", "service.forwarder:command"
    ),
    CommandEntry("puller", "pull spend and fetch watched files that are due", "service.puller:command"),
    CommandEntry("migrate", "bring the database to this version", "service.migrate:command"),
    CommandEntry("distribute", "spread the tables over a cluster of nodes", "service.distribute:command"),
    CommandEntry("check", "report what is unsafe in this installation", "service.check:command"),
    CommandEntry("backup", "back everything up, or verify or list backups", "service.backups:command"),
    CommandEntry("restore", "restore an installation from a backup", "service.restorations:command"),
    CommandEntry("upgrade", "upgrade PostgreSQL's data to the next major version", "service.upgrade:command"),
    CommandEntry("space", "create and change Spaces", "spaces:group"),
    CommandEntry("key", "create and revoke API keys", "keys:group"),
    CommandEntry("contact", "manage contacts", "contacts:group"),
    CommandEntry("queue", "manage accepted requests", "service.queue:group"),
    CommandEntry("reports", "check or rebuild the data of reports", "reports:group"),
    CommandEntry("model", "train data-driven models", "trained_models:group"),
    CommandEntry("export", "write events, contacts or companies to a file", "exports:group"),
    CommandEntry("exporter", "work on exports of the API", "service.exporter:command"),
    CommandEntry("importer", "work on files uploaded in the console", "service.importer:command"),
    CommandEntry("watcher", "look for alerts and send messages that are due", "service.watcher:command"),
    CommandEntry("alerts", "see alerts, and test channels", "alerts:group"),
    CommandEntry("source", "see where visits come from", "source:group"),
    CommandEntry("network", "manage a Space's own paid networks", "networks:group"),
    CommandEntry("webhook", "manage webhooks that other services call", "webhooks:group"),
    CommandEntry("site", "manage sites whose pages report visits", "sites:group"),
    CommandEntry("user", "manage people who may log in to the console", "users:group"),
    CommandEntry("sso", "let people log in through an identity provider", "sso:group"),
    CommandEntry("audit", "see who changed what", "audit:group"),
    CommandEntry("secret-key", "replace the secret key", "service.secret_key:group"),
    CommandEntry("pat", "manage the tokens of assistants and scripts", "tokens:group"),
    CommandEntry("import", "import past data from a file", "imports:group"),
    CommandEntry("order", "compare orders with another tool's", "orders:group"),
    CommandEntry("spend", "connect ad accounts whose spend is pulled", "spend:group"),
    CommandEntry("watch", "import files from an address when they change", "watched_files:group"),
    CommandEntry("rates", "import exchange rates", "rates:group"),
    CommandEntry("destination", "manage where events are forwarded to", "destinations:group"),
    CommandEntry("delivery", "list the deliveries of forwarded events", "deliveries:group"),
    CommandEntry("completion", "print a shell's completion script", "completion:command"),
)
"""In the order of `headwater --help`."""


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the command line's parser; with `only`, with the options of that command alone, which avoids
    importing the others' modules.
    """
    parser = argparse.ArgumentParser(prog="headwater", description="Conversion tracking.")
    parser.add_argument("--version", action="version", version=f"headwater {__version__}")
    parsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for entry in COMMANDS:
        loaded = entry.load() if only in (None, entry.name) else None
        command = parsers.add_parser(
            entry.name,
            help=entry.about,
            description=entry.about,
            allow_abbrev=not isinstance(loaded, Command),
        )
        if loaded is not None:
            loaded.fill(command)
    return parser
