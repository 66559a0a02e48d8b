"""`headwater queue …`: is everything processed, and what could not be."""

from __future__ import annotations

from argparse import Namespace

import psycopg

from headwater.cli.connect import database_url, told
from headwater.cli.output import show
from headwater.pipeline import queue
from headwater.pipeline import rejected as rows
from headwater.settings import Settings


def wait(settings: Settings, arguments: Namespace) -> int:
    """0 when everything accepted before the call is processed, 1 when time ran out."""
    with told(settings):
        return 0 if queue.wait_until_processed(database_url(settings), arguments.timeout) else 1


def rejected(settings: Settings, arguments: Namespace) -> int:
    with told(settings), psycopg.connect(database_url(settings), connect_timeout=5) as connection:
        show(rows.list_rejected(connection), as_json=arguments.json)
    return 0


def replay(settings: Settings, arguments: Namespace) -> int:
    with told(settings), psycopg.connect(database_url(settings), connect_timeout=5) as connection:
        replayed = rows.replay(connection)
    show({"replayed": replayed}, as_json=arguments.json)
    return 0
