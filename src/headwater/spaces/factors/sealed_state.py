"""Encrypted state that waits in the browser for a code: a login after its password, the secret of an app
that is being set up, and challenges of passkeys.
"""

from __future__ import annotations

import time
from typing import TypeVar

from msgspec import Struct

from headwater.spaces.accounts.users import User
from headwater.spaces.encryption import seal_struct, unseal_struct
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


def begin_login(user: User, account: str) -> PendingLogin:
    return PendingLogin(user.id, hash_password_state(user.password_hash), account, int(time.time()))


def seal_state(key: bytes, state: State, browser: bytes) -> str:
    """`browser` is the key of its forms: another browser can't open the state."""
    return seal_struct(key, state, _purpose(type(state), browser))


def open_state(key: bytes, text: str, kind: type[State], browser: bytes) -> State | None:
    """Return None for missing, foreign or expired text."""
    state = unseal_struct(key, text, kind, _purpose(kind, browser))
    return state if state is not None and time.time() - state.started_at <= PENDING_SECONDS else None


def _purpose(kind: type[Struct], browser: bytes) -> bytes:
    return f"{kind.__name__} ".encode() + browser
