"""`headwater queue …`: is everything processed, and what could not be."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import psycopg

from headwater.cli.connect import database_url, told
from headwater.cli.output import show
from headwater.inbox.queue import wait_until_processed
from headwater.inbox.rejected import list_rejected, replay_rejected
from headwater.privacy.erasures import wait_until_erased
from headwater.settings import Settings


def wait(settings: Settings, arguments: Namespace) -> int:
    """0 when everything accepted before the call is processed and everybody to be erased is, 1
    when time ran out.
    """
    deadline = time.monotonic() + arguments.timeout
    with _connection(settings) as connection:
        if not wait_until_processed(connection, arguments.timeout):
            return 1
        return 0 if wait_until_erased(connection, deadline - time.monotonic()) else 1


def rejected(settings: Settings, arguments: Namespace) -> int:
    with _connection(settings) as connection:
        listed = list_rejected(connection)
    show([asdict(row) for row in listed], as_json=arguments.json)
    return 0


def replay(settings: Settings, arguments: Namespace) -> int:
    with _connection(settings) as connection:
        replayed = replay_rejected(connection)
    show({"replayed": replayed}, as_json=arguments.json)
    return 0


@contextmanager
def _connection(settings: Settings) -> Generator[psycopg.Connection[Any]]:
    url = database_url(settings)
    with told(settings), psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
        yield connection
