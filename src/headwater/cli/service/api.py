"""`headwater api`: one API process, on its own socket or the supervisor's."""

from __future__ import annotations

import argparse
import socket
from contextlib import suppress
from functools import partial

import psycopg
import structlog

from headwater import app
from headwater.base import allocator, listening_socket, log_lines, logs
from headwater.base.failure import Failure
from headwater.base.files import keep_private
from headwater.base.settings import Settings
from headwater.base.succession import announce
from headwater.base.telemetry.otlp import exported
from headwater.database.installation import write_addresses
from headwater.database.jobs import leash
from headwater.operations.terminal.command import Command, Option
from headwater.operations.terminal.connection import database_url, explain_failures, refuse_unfinished
from headwater.operations.terminal.options import ANNOUNCE, LEASH, LISTEN


def api(settings: Settings, arguments: argparse.Namespace) -> int:
    """Answer requests until stopped."""
    keep_private()
    logs.configure(settings.log_level, settings.log_format)
    leash.hold(arguments)
    allocator.keep_freed_memory()
    with exported(), _socket(arguments) as bound, explain_failures(settings):
        url, base_url = database_url(settings), listening_socket.base_url(bound)
        refuse_unfinished(url)
        began = partial(announce, arguments.announce)
        if arguments.fd is None:
            began = partial(_announce, settings, url, settings.base_url or base_url)
        app.serve(settings, url, bound, base_url, began)
    return 0


def _socket(arguments: argparse.Namespace) -> socket.socket:
    if arguments.fd is not None:
        return socket.socket(fileno=arguments.fd)
    try:
        return listening_socket.bind(arguments.host, arguments.port)
    except OSError as error:
        raise Failure(listening_socket.explain(arguments.host, arguments.port, error)) from None


def _announce(settings: Settings, url: str, base_url: str) -> None:
    """Store the address for local commands, like the supervisor does."""
    with suppress(psycopg.errors.ReadOnlySqlTransaction), psycopg.connect(url) as connection:
        write_addresses(connection, settings, base_url)
    if log_lines.is_text(settings.log_format):
        structlog.get_logger().info("serving", address=base_url)


command = Command(api, *LISTEN, Option("--fd", type=int, help=argparse.SUPPRESS), LEASH, ANNOUNCE)
