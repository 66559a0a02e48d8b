"""Choices on the consent page: Spaces that an assistant may use, and its abilities there, never more than the
person's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_all, make_cursor
from headwater.spaces.accounts.roles import Permission, Role
from headwater.spaces.accounts.tokens import MAX_OF_A_VIEWER, MAX_TOKENS

queries = Queries(__name__, "consent.sql")

_READS = "see the reports, events, contacts, companies and deliveries of the Space"
_WRITES = "record, change and delete events; change contacts and companies; erase a contact's personal data"


@dataclass(frozen=True)
class SpaceChoice:
    space_id: int
    name: str
    role: Role
    active: bool
    require_second_factor: bool
    tokens: int
    """Number of valid tokens of all members."""
    own_tokens: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "role", Role(self.role))

    @property
    def is_full(self) -> bool:
        return self.tokens >= MAX_TOKENS or self.is_viewers_share_full

    @property
    def is_viewers_share_full(self) -> bool:
        return self.role is Role.VIEWER and self.own_tokens >= MAX_OF_A_VIEWER

    @property
    def is_open(self) -> bool:
        return self.active and not self.is_full and self.role.may(Permission.MAKE_TOKENS)

    @property
    def abilities(self) -> tuple[str, ...]:
        return (_READS, _WRITES) if self.role.may(Permission.WRITE_DATA) else (_READS,)


class NoSpaceReason(StrEnum):
    """The reason for having no choice, in words for the user."""

    NO_MEMBER = "The assistant asks for a Space you are not a member of."
    NO_SPACE = "You are not a member of any Space."
    INACTIVE = "The Space's subscription is inactive."
    FULL = f"The Space has {MAX_TOKENS} tokens, the maximum: revoke one first."
    VIEWERS_SHARE_FULL = f"You have {MAX_OF_A_VIEWER} tokens, the maximum for a viewer: revoke one first."
    NONE_OPEN = "None of your Spaces can connect an assistant now."


class ConsentOffer(Struct, frozen=True):
    choices: Sequence[SpaceChoice]
    locked: bool

    @property
    def can_write(self) -> bool:
        """Return whether the user may change data in one of the Spaces, and can withhold that."""
        return any(choice.is_open and choice.role.may(Permission.WRITE_DATA) for choice in self.choices)

    @property
    def hindrance(self) -> NoSpaceReason | None:
        if not self.choices:
            return NoSpaceReason.NO_MEMBER if self.locked else NoSpaceReason.NO_SPACE
        if any(choice.is_open for choice in self.choices):
            return None
        if len(self.choices) > 1:
            return NoSpaceReason.NONE_OPEN
        (choice,) = self.choices
        if not choice.active:
            return NoSpaceReason.INACTIVE
        return NoSpaceReason.VIEWERS_SHARE_FULL if choice.is_viewers_share_full else NoSpaceReason.FULL

    @property
    def kinds(self) -> dict[tuple[str, ...], str]:
        """Return abilities with the roles that give them."""
        roles: dict[tuple[str, ...], dict[Role, None]] = {}
        for choice in self.choices:
            if choice.is_open:
                roles.setdefault(choice.abilities, {})[choice.role] = None
        return {abilities: " or ".join(names) for abilities, names in roles.items()}

    def find(self, space_id: str) -> SpaceChoice | None:
        choices = (choice for choice in self.choices if choice.is_open)
        return next((choice for choice in choices if str(choice.space_id) == space_id), None)


async def list_choices(connection: AsyncConnection, user_id: int, space_id: int | None) -> ConsentOffer:
    """Return Spaces that a user can choose, or only the one in the request. Another user's Space looks like a
    missing one.
    """
    choices = await fetch_all(make_cursor(connection, SpaceChoice), queries["choices"], {"user_id": user_id})
    if space_id is None:
        return ConsentOffer(choices, locked=False)
    return ConsentOffer([choice for choice in choices if choice.space_id == space_id], locked=True)
