"""Encrypted state that waits in the browser for a code: a login after its password, the secret of an app
that is being set up, and challenges of passkeys.
"""

from __future__ import annotations

import base64
import time
from typing import TypeVar

import msgspec
from msgspec import Struct

from headwater.spaces.accounts.users import User
from headwater.spaces.encryption import Unsealable, seal, unseal
from headwater.spaces.secret_hash import hash_secret

PENDING_SECONDS = 600


class PendingLogin(Struct, frozen=True):
    user_id: int
    password: bytes
    """A hash of the stored password, so that a change of the password ends the login."""
    account: str
    """The account as it was typed."""
    started_at: int


class NewAuthenticator(Struct, frozen=True):
    secret: str
    started_at: int


class NewPasskey(Struct, frozen=True):
    challenge: bytes
    started_at: int


class PasskeyRequest(Struct, frozen=True):
    challenge: bytes
    user_id: int | None
    """None: any user's passkey, which replaces the password."""
    started_at: int


State = TypeVar("State", PendingLogin, NewAuthenticator, NewPasskey, PasskeyRequest)


def hash_password_state(password_hash: str | None) -> bytes:
    return hash_secret(password_hash or "")


def begin_login(user: User, password_hash: str | None, account: str) -> PendingLogin:
    return PendingLogin(user.id, hash_password_state(password_hash), account, int(time.time()))


def seal_state(key: bytes, state: State, browser: bytes) -> str:
    """`browser` is the key of its forms: another browser can't open the state."""
    sealed = seal(key, msgspec.json.encode(state).decode(), _purpose(type(state), browser))
    return base64.urlsafe_b64encode(sealed).decode()


def open_state(key: bytes, text: str, kind: type[State], browser: bytes) -> State | None:
    """Return None for missing, foreign or expired text."""
    try:
        opened = unseal(key, base64.urlsafe_b64decode(text.encode()), _purpose(kind, browser))
        state = msgspec.json.decode(opened, type=kind)
    except (Unsealable, ValueError):
        return None
    return state if time.time() - state.started_at <= PENDING_SECONDS else None


def _purpose(kind: type[Struct], browser: bytes) -> bytes:
    return f"{kind.__name__} ".encode() + browser
