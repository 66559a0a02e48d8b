"""Browser sessions, found by the hash of their token. They last 30 days, or 7 without use."""

from __future__ import annotations

import hmac
import secrets
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec import Struct
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from headwater.database.queries import Queries, fetch_all, fetch_optional, make_cursor
from headwater.spaces.accounts.users import User
from headwater.spaces.secret_hash import hash_secret

queries = Queries(__name__, "sessions.sql")

LIFETIME = timedelta(days=30)
IDLE = timedelta(days=7)
MAX_DEVICE = 80
FRESH_FOR = timedelta(minutes=10)
"""How long a second factor or a password counts for dangerous actions."""


class Session(Struct, frozen=True):
    id: int
    user: User
    csrf_key: bytes
    """Derived from the cookie's token, so that only the cookie's browser can submit forms."""
    created_at: datetime
    by_provider: bool
    """Whether it began with single sign-on, where the provider asks for its own factors."""
    factor_at: datetime | None
    """When a second factor was last used in it."""
    has_factor: bool
    """Whether the user has a second factor."""
    password_at: datetime
    """When the password was last entered in it, or when it began."""

    @property
    def is_proven(self) -> bool:
        """Return whether more than a password was shown: a user with a factor has no other session."""
        return self.by_provider or self.has_factor

    @property
    def is_fresh(self) -> bool:
        """Return whether the user has shown a second factor or, without one, the password in the last
        minutes. Single sign-on without a factor counts as it is, because only the provider could ask again.
        """
        if not self.has_factor and (self.by_provider or self.user.password_hash is None):
            return True
        shown_at = self.factor_at if self.has_factor else self.password_at
        return shown_at is not None and datetime.now(UTC) - shown_at < FRESH_FOR


class ProviderSession(Struct, frozen=True):
    """How a session began at an identity provider."""

    provider: str | None = None
    """None for a login with a password."""
    provider_session: str | None = None
    id_token: bytes | None = None
    """Encrypted."""


class OpenSession(Struct, frozen=True):
    id: int
    device: str
    created_at: datetime
    last_seen_at: datetime


PASSWORD = ProviderSession()


async def open_session(
    connection: AsyncConnection,
    user_id: int,
    device: str = "",
    origin: ProviderSession = PASSWORD,
    factor_at: datetime | None = None,
) -> tuple[str, Session | None]:
    """Return the cookie's token and the session; `factor_at` is when a second factor was used. None: the user
    has one, which was not used, so the token opens nothing.
    """
    token = secrets.token_urlsafe(32)
    values = {
        "token_hash": hash_secret(token),
        "user_id": user_id,
        "device": device[:MAX_DEVICE],
        "lifetime": LIFETIME,
        "factor_at": factor_at,
        **msgspec.structs.asdict(origin),
    }
    await connection.execute(queries["tidy"], {"user_id": user_id, "idle": IDLE})
    await connection.execute(queries["open"], values)
    return token, await fetch_session(connection, token)


async def fetch_session(connection: AsyncConnection, token: str) -> Session | None:
    """Return None if the session has ended or its user is disabled."""
    if not token or len(token) > 128:
        return None
    values = {"token_hash": hash_secret(token), "idle": IDLE}
    cursor = connection.cursor(row_factory=dict_row)
    row = await fetch_optional(cursor, queries["fetch"], values)
    if row is None:
        return None
    names = ("by_provider", "factor_at", "has_factor", "password_at")
    session_id, opened_at, *proof = (row.pop(name) for name in ("session_id", "opened_at", *names))
    return Session(session_id, User(**row), _csrf_key(token), opened_at, *proof)


async def hold_session(connection: AsyncConnection, session: Session) -> bool:
    """Let the end of a session wait for this transaction, so that it also ends what begins here. Return False
    if the session has ended.
    """
    return (await connection.execute(queries["hold"], {"session_id": session.id})).rowcount == 1


async def list_sessions(connection: AsyncConnection, user_id: int) -> list[OpenSession]:
    values = {"user_id": user_id, "idle": IDLE}
    return await fetch_all(make_cursor(connection, OpenSession), queries["list"], values)


async def close_session(connection: AsyncConnection, user_id: int, session_id: int) -> ProviderSession:
    """Return how it began."""
    values = {"user_id": user_id, "session_id": session_id}
    return (
        await fetch_optional(make_cursor(connection, ProviderSession), queries["close"], values) or PASSWORD
    )


async def note_factor(connection: AsyncConnection, token: str, moment: datetime) -> None:
    """Record when a second factor was used in the session of this token."""
    await connection.execute(queries["note_factor"], {"token_hash": hash_secret(token), "moment": moment})


async def note_password(connection: AsyncConnection, session_id: int) -> None:
    """Record that the password was entered again in this session."""
    await connection.execute(queries["note_password"], {"session_id": session_id})


async def close_other_sessions(connection: AsyncConnection, user_id: int, session_id: int) -> None:
    await connection.execute(queries["close_others"], {"user_id": user_id, "session_id": session_id})


async def close_sessions(connection: AsyncConnection, user_id: int) -> None:
    await connection.execute(queries["close_all"], {"user_id": user_id})


async def close_provider_sessions(
    connection: AsyncConnection, provider: str, provider_session: str | None, user_id: int | None
) -> int:
    """Close one session of the provider, or all of a user that began there. One of them is given. Return how
    many were closed.
    """
    values = {"provider": provider, "provider_session": provider_session, "user_id": user_id}
    return (await connection.execute(queries["close_provider"], values)).rowcount


async def close_password_sessions(connection: AsyncConnection, user_id: int) -> None:
    """Close the sessions that began with a password, except this user's."""
    await connection.execute(queries["close_password_sessions"], {"user_id": user_id})


def _csrf_key(token: str) -> bytes:
    return hmac.digest(token.encode("utf-8", "surrogatepass"), b"headwater csrf", "sha256")
