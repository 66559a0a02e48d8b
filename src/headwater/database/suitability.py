"""Recognize databases and connections that Headwater cannot work with."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import Connection

from headwater.database.queries import Queries, fetch_row

queries = Queries(__name__, "suitability.sql")

CONNECT_SECONDS = 5
READ_ONLY = "the database takes no writes"
ON_READ_ONLY = "use the primary instead of a standby, or turn default_transaction_read_only off"
POOLED = (
    "the connection leads through a pooler in transaction mode, where sessions of different Spaces mix:"
    " connect directly, or use session mode"
)


def explain_unsuitable(connection: Connection[Any], url: str) -> str | None:
    """Return why tables must not be created in a database, with advice; None if they may be."""
    holds_every_text, is_read_only = fetch_row(connection, queries["properties"])
    if not holds_every_text:
        return "the database's encoding is not UTF-8: create one with ENCODING 'UTF8' TEMPLATE template0"
    if is_read_only:
        return f"{READ_ONLY}: {ON_READ_ONLY}"
    return POOLED if shares_sessions(connection, url) else None


def shares_sessions(connection: Connection[Any], url: str) -> bool:
    """Return whether two connections can get the same session, as a pooler in transaction mode gives one that
    waits. Session settings, LISTEN and advisory locks would then apply to others.
    """
    session = _fetch_session(connection)
    with psycopg.connect(url, connect_timeout=CONNECT_SECONDS) as other:
        # Its transaction keeps the session that it gets, so the first connection cannot get it again.
        return session == _fetch_session(other) or session != _fetch_session(connection)


def _fetch_session(connection: Connection[Any]) -> int:
    return fetch_row(connection, queries["session"])[0]
