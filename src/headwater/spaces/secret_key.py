"""The installation's secret key and its storage. It signs cursors and links, and keys that encrypt secrets in
the database are derived from it, so it should not be stored there.

The operator's key takes precedence, then one left in the database, then the data directory's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from headwater.base.failure import Failure
from headwater.base.files import write_private
from headwater.base.settings import Settings
from headwater.database.installation import clear_stored_key, fetch_stored_key

CONNECT_SECONDS = 30
LEAST_LENGTH = 32


class SecretKey(NamedTuple):
    """The key, and whether a copy of the database would contain it."""

    text: str
    in_database: bool = False


def key_file(data_dir: Path) -> Path:
    return data_dir.absolute() / "secret.key"


def find_secret_key(settings: Settings, database_url: str) -> SecretKey:
    """Return the key. Raises Failure without one: a new key could not decrypt any stored secret."""
    if settings.secret_key is not None:
        return SecretKey(settings.secret_key)
    with psycopg.connect(database_url, connect_timeout=CONNECT_SECONDS) as connection:
        stored_key = fetch_stored_key(connection)
    if stored_key is not None:
        # Before the file, which may belong to another installation; the database cannot.
        return SecretKey(stored_key, in_database=True)
    return SecretKey(_read(key_file(settings.data_dir)))


def move_to_file(connection: psycopg.Connection[Any], data_dir: Path) -> None:
    """Move the key from the database to its data directory. An interruption leaves it in both."""
    stored_key = fetch_stored_key(connection)
    if stored_key is not None:
        write_private(key_file(data_dir), f"{stored_key}\n")
        clear_stored_key(connection)


def _read(file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        reason = "is missing"
    except (OSError, UnicodeDecodeError) as error:
        reason = f"cannot be read ({error})"
    else:
        if len(text) >= LEAST_LENGTH:
            return text
        reason = f"holds no key of at least {LEAST_LENGTH} characters"
    raise Failure(
        f"the secret key's file {file} {reason}; bring it back from a backup of the data directory,"
        " or set HEADWATER_SECRET_KEY: with another key, stored secrets must be entered again"
    )
