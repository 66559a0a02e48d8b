"""Prepare a database for processes of this version."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import psycopg

from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.database.cluster.presence import require_first_node
from headwater.database.embedded import Embedded
from headwater.database.installation import require_finished
from headwater.database.migrator import migrate
from headwater.spaces.secret_key import find_secret_key, move_to_file

PREPARE = "--prepare"
"""Makes `serve` only prepare the database of a running service, and exit."""


@contextmanager
def explained() -> Generator[None]:
    """Turn an unreachable database into a Failure."""
    try:
        yield
    except psycopg.OperationalError as error:
        raise Failure(f"cannot reach the database: {error}") from None


def prepare(settings: Settings, url: str) -> list[str]:
    """Prepare a database for this version, and return the applied migrations. For an embedded database, the
    secret key is moved to a file first. Raises Failure, psycopg.Error.
    """
    with psycopg.connect(url) as connection:
        require_first_node(connection)
    names = migrate(url)
    with psycopg.connect(url) as connection:
        require_finished(connection)
    if settings.secret_key is None and settings.database_url is None:
        with psycopg.connect(url, autocommit=True) as connection:
            move_to_file(connection, settings.data_dir)
    find_secret_key(settings, url)
    return names


def prepare_beside(settings: Settings) -> list[str]:
    """Prepare the database of a running service. Raises Failure."""
    with explained():
        if settings.database_url is not None:
            return prepare(settings, settings.database_url)
        embedded = Embedded(settings.data_dir)
        embedded.refuse_other_major()  # its server keeps running, and could not be restarted
        return prepare(settings, embedded.url)
