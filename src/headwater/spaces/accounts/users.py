"""User accounts. Passwords are hashed before (`passwords.py`), so that no transaction waits for it."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Struct
from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional, make_cursor
from headwater.http.errors import Conflict, Invalid, require_found
from headwater.http.inputs.emails import parse_written_email
from headwater.http.inputs.fields import UNPRINTABLE

queries = Queries(__name__, "users.sql")
_CREATE, _FIND, _FETCH = (
    queries[name].format(columns=queries["columns"]) for name in ("create", "find", "fetch")
)

MAX_NAME = 120
"""Characters of a name, which pages and mails show in one line."""


class EmailTaken(Conflict):
    def __init__(self) -> None:
        super().__init__("There is an account with this e-mail address.")


class User(Struct, frozen=True):
    id: int
    email: str
    name: str
    created_at: datetime
    disabled_at: datetime | None
    password_hash: str | None
    """None until a password is chosen: such a user cannot log in."""

    @property
    def display_name(self) -> str:
        """The name, or the address of a user without one."""
        return self.name or self.email


class EndedLogins(Struct, frozen=True):
    """How many sessions and tokens were ended."""

    sessions: int
    tokens: int


def read_email(text: str) -> str:
    """Return the stored form. Raises Invalid."""
    try:
        return parse_written_email(text)
    except ValueError as error:
        raise Invalid.of("email", str(error)) from None


def read_label(field: str, text: str) -> str:
    """Return a trimmed name of 1 to MAX_NAME characters without controls. Raises Invalid."""
    text = text.strip()
    if not text:
        raise Invalid.of(field, "must not be empty.")
    if len(text) > MAX_NAME:
        raise Invalid.of(field, f"must have at most {MAX_NAME} characters.")
    if UNPRINTABLE.search(text):
        raise Invalid.of(field, "must not hold control characters.")
    return text


async def create_user(
    connection: AsyncConnection, email: str, password_hash: str | None, name: str = ""
) -> User:
    """Raises Invalid for address or name, EmailTaken."""
    values = {
        "email": read_email(email),
        "password_hash": password_hash,
        "name": read_label("name", name) if name.strip() else "",
    }
    user = await fetch_optional(make_cursor(connection, User), _CREATE, values)
    if user is None:
        raise EmailTaken
    return user


async def find_user(connection: AsyncConnection, email: str) -> User | None:
    """Find any spelling; None for an unknown or invalid address."""
    try:
        values = {"email": read_email(email)}
    except Invalid:
        return None
    return await fetch_optional(make_cursor(connection, User), _FIND, values)


async def fetch_user(connection: AsyncConnection, user_id: int) -> User:
    return require_found(
        await fetch_optional(make_cursor(connection, User), _FETCH, {"user_id": user_id}), "User"
    )


async def any_user(connection: AsyncConnection) -> bool:
    return (await fetch_one(connection, queries["any"]))[0]


async def change_name(connection: AsyncConnection, user_id: int, name: str) -> None:
    """Show the address without a name. Raises Invalid."""
    name = read_label("name", name) if name.strip() else ""
    await connection.execute(queries["change_name"], {"user_id": user_id, "name": name})


async def change_password(
    connection: AsyncConnection, user_id: int, password_hash: str, *, revoke_tokens: bool = False
) -> None:
    """Replace a password, and end every session and password link. `revoke_tokens` also ends all tokens,
    because a person who knew the old password may have created one.
    """
    values = {"user_id": user_id, "password_hash": password_hash}
    await connection.execute(queries["change_password"], values)
    await end_logins(connection, user_id, revoke_tokens=revoke_tokens)
    await connection.execute(queries["end_links"], values)


async def disable_user(connection: AsyncConnection, user: User) -> EndedLogins:
    """Refuse a user's logins and tokens, and end what they have: sessions, tokens, password links, and open
    invitations that they sent or that name their address. Memberships and API keys stay.
    """
    await connection.execute(queries["disable"], {"user_id": user.id})
    return await _end_access(connection, user)


async def enable_user(connection: AsyncConnection, user: User) -> None:
    """Allow logins again. A login that was under way when the user was disabled does not come back."""
    await _end_access(connection, user)
    await connection.execute(queries["enable"], {"user_id": user.id})


async def list_user_ids(connection: AsyncConnection) -> list[int]:
    return [user_id for (user_id,) in await fetch_all(connection, queries["ids"])]


async def end_logins(
    connection: AsyncConnection, user_id: int, *, revoke_tokens: bool = False
) -> EndedLogins:
    """Close a user's sessions. `revoke_tokens` also ends their tokens and connected assistants."""
    values = {"user_id": user_id}
    sessions = (await connection.execute(queries["close_sessions"], values)).rowcount
    if not revoke_tokens:
        return EndedLogins(sessions, 0)
    await connection.execute(queries["end_codes"], values)
    return EndedLogins(sessions, (await connection.execute(queries["revoke_tokens"], values)).rowcount)


async def _end_access(connection: AsyncConnection, user: User) -> EndedLogins:
    # Sessions first: a form that holds one may be making an invitation.
    ended_logins = await end_logins(connection, user.id, revoke_tokens=True)
    values = {"user_id": user.id, "email": user.email}
    await connection.execute(queries["end_links"], values)
    await connection.execute(queries["end_invitations"], values)
    return ended_logins


async def renew_hash(connection: AsyncConnection, user: User, password_hash: str) -> User:
    """Keep a password that was changed meanwhile. Return the user with the new hash."""
    values = {"user_id": user.id, "before": user.password_hash, "password_hash": password_hash}
    await connection.execute(queries["renew_hash"], values)
    return msgspec.structs.replace(user, password_hash=password_hash)


async def lock_unchanged(connection: AsyncConnection, user: User) -> None:
    """Let a change of the password, or disabling the user, wait for this transaction, so that it also ends
    what begins here. Raise Conflict after such a change since `user` was read.
    """
    values = {"user_id": user.id, "password_hash": user.password_hash}
    if await fetch_optional(connection, queries["lock_unchanged"], values) is None:
        raise Conflict("The account was changed meanwhile. Log in again.")
