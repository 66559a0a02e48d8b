"""The installation's only row: the secret key until it is moved, and the addresses of the running service.
Commands read these because their own environment may lack the service's port and variables.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from psycopg import AsyncConnection, Connection
from psycopg.types.json import Jsonb

from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.database.queries import Queries, fetch_one, fetch_row

queries = Queries(__name__, "installation.sql")

DEFAULT_BASE_URL = "http://127.0.0.1:8080"


def write_addresses(connection: Connection[Any], settings: Settings, base_url: str) -> None:
    values = {
        "base_url": base_url,
        "tracker_script": settings.tracker_script,
        "platform_urls": Jsonb(dict(settings.platform_urls)),
    }
    connection.execute(queries["write_addresses"], values)


async def with_service_addresses(connection: AsyncConnection, settings: Settings) -> Settings:
    """Leave the settings unchanged before the first start."""
    row = await fetch_one(connection, queries["addresses"])
    base_url, tracker_script, platform_urls = row
    if base_url is None:
        return replace(settings, base_url=settings.base_url or DEFAULT_BASE_URL)
    return replace(settings, base_url=base_url, tracker_script=tracker_script, platform_urls=platform_urls)


async def fetch_base_url(connection: AsyncConnection, settings: Settings) -> str:
    """Return the origin for links in a command's output."""
    service = await with_service_addresses(connection, settings)
    assert service.base_url is not None
    return service.base_url


def fetch_service_url(connection: Connection[Any]) -> str | None:
    row = connection.execute(queries["addresses"]).fetchone()
    return row[0] if row is not None else None


def fetch_stored_key(connection: Connection[Any]) -> str | None:
    """Return None once the key was moved."""
    row = connection.execute(queries["secret_key"]).fetchone()
    return row[0] if row is not None else None


def clear_stored_key(connection: Connection[Any]) -> None:
    """Delete the key after it was moved."""
    connection.execute(queries["clear_secret_key"])


def require_finished(connection: Connection[Any]) -> None:
    """Raise Failure: the database may contain erased people."""
    row = connection.execute(queries["unfinished"]).fetchone()
    if row is not None and row[0]:
        raise Failure(
            "`headwater restore` has not finished on this database. While it runs, wait; else drop"
            " the database, make an empty one, and run `headwater restore` again (with"
            " --recovered-to run it again on this one)"
        )


def fetch_description(connection: Connection[Any]) -> dict[str, Any]:
    """Omit the secret key."""
    return fetch_row(connection, queries["description"])[0]


def restore_description(
    connection: Connection[Any], description: dict[str, Any], secret_key: str | None
) -> None:
    """Mark the row as an unfinished restore."""
    values = {"description": Jsonb(description), "secret_key": secret_key}
    connection.execute(queries["restore"], values)


def begin_restore(connection: Connection[Any]) -> None:
    connection.execute(queries["begin_restore"])


def finish_restore(connection: Connection[Any]) -> None:
    connection.execute(queries["finish_restore"])
