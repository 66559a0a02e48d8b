"""The API's key for encrypting other services' secrets, for commands."""

from __future__ import annotations

from headwater.base.settings import Settings
from headwater.operations.terminal.connection import database_url, explain_failures
from headwater.spaces.encryption import derive_key
from headwater.spaces.secret_key import find_secret_key


def load_encryption_key(settings: Settings) -> bytes:
    """Return the key. Raises Failure if the key or the database cannot be reached."""
    with explain_failures(settings):
        secret = find_secret_key(settings, database_url(settings)).text
        return derive_key(secret, settings.former_secret_key)
