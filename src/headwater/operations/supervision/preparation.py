"""The preparation of a database: all that it needs before processes of this version work on it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import psycopg

from headwater.base.settings import Settings
from headwater.database.cluster.presence import OtherNodeError, require_first_node
from headwater.database.embedded import Embedded, EmbeddedError
from headwater.database.installation import UnfinishedRestoreError, require_finished
from headwater.database.migrator import MigrationError, migrate
from headwater.spaces.secret_key import SecretKeyError, find_secret_key, move_to_file

PREPARE = "--prepare"
"""The option with which `serve` only prepares the database of a running service, and exits."""


REFUSALS = (EmbeddedError, MigrationError, OtherNodeError, SecretKeyError, UnfinishedRestoreError)


class ServeError(Exception):
    """The service cannot be started; the text says why."""


@contextmanager
def explained() -> Generator[None]:
    """Turn what keeps a service from beginning into a ServeError."""
    try:
        yield
    except REFUSALS as error:
        raise ServeError(str(error)) from None
    except psycopg.OperationalError as error:
        raise ServeError(f"cannot reach the database: {error}") from None


def prepare(settings: Settings, url: str) -> list[str]:
    """Make a database ready for this version, and return the migrations that it lacked. The secret
    key is kept outside a database that is ours alone, and there before anything needs it; other
    machines may look for it in an external one.

    Raises one of REFUSALS, psycopg.Error.
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
    """Make the database of a running service ready for this version. Raises ServeError."""
    with explained():
        if settings.database_url is not None:
            return prepare(settings, settings.database_url)
        embedded = Embedded(settings.data_dir)
        embedded.refuse_other_major()  # its server goes on, and could not be started again
        return prepare(settings, embedded.url)
