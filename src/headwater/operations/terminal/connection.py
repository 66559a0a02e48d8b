"""A command's connection to the database of a running Headwater, with clear error messages."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import psycopg

from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.database.cluster.presence import require_first_node
from headwater.database.embedded import Embedded
from headwater.database.installation import require_finished
from headwater.database.jobs.connection import STAY_CONNECTED
from headwater.database.suitability import ON_READ_ONLY, POOLED, READ_ONLY, shares_sessions
from headwater.http.errors import Invalid, Problem, list_rules

CONNECT_SECONDS = 5
OTHER_SCHEMA = (
    "the database has no Headwater schema, or one of another version; start this version's "
    "`headwater serve`, or run `headwater migrate`"
)


def database_url(settings: Settings) -> str:
    """Return the database to use. Raises Failure for a data directory without a database."""
    return settings.database_url or Embedded(settings.data_dir).url


def refuse_unfinished(url: str) -> None:
    """Raise Failure for an unfinished restore, a cluster node other than the first, and a pooler that mixes
    sessions. The next step reports another schema.
    """
    with (
        psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_SECONDS) as connection,
        suppress(psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn),
    ):
        if shares_sessions(connection, url):
            raise Failure(POOLED)
        require_first_node(connection)
        require_finished(connection)


@contextmanager
def explain_failures(settings: Settings) -> Generator[None]:
    """Turn errors inside the block into a Failure with advice."""
    try:
        yield
    except Invalid as error:
        raise Failure(" ".join(f"{rule.rstrip('.')}." for rule in list_rules(error.errors))) from None
    except Problem as error:
        raise Failure(error.message) from None
    except psycopg.errors.DiskFull as error:
        raise Failure(f"the database's disk is full ({error.diag.message_primary})") from None
    except psycopg.errors.ReadOnlySqlTransaction:
        raise Failure(f"{READ_ONLY}: {ON_READ_ONLY}") from None
    except psycopg.OperationalError as error:
        raise Failure(_unreachable(settings, error)) from None
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn):
        raise Failure(OTHER_SCHEMA) from None


def _unreachable(settings: Settings, error: psycopg.OperationalError) -> str:
    setting, reason = "HEADWATER_DATABASE_URL", str(error).splitlines()[0]
    if not settings.database_url:
        setting, reason = f"{settings.data_dir}", reason.partition("FATAL:")[2].strip()
        if not reason:
            setting, reason = f"{setting}; is `headwater serve` running on it?", "no connection"
    return f"cannot reach the database of {setting} ({reason})"


@asynccontextmanager
async def transaction(settings: Settings) -> AsyncGenerator[psycopg.AsyncConnection]:
    """Yield a connection in a transaction, which commits when the block ends. Raises Failure."""
    url = database_url(settings)
    with explain_failures(settings):
        async with await psycopg.AsyncConnection.connect(url, connect_timeout=CONNECT_SECONDS) as connection:
            yield connection


@contextmanager
def autocommit_connection(settings: Settings) -> Generator[psycopg.Connection[Any]]:
    """Yield a connection in autocommit. Raises Failure."""
    url = database_url(settings)
    with (
        explain_failures(settings),
        psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_SECONDS) as connection,
    ):
        connection.execute(STAY_CONNECTED)
        yield connection
