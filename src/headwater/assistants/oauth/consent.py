"""The choices of a person on the consent page: the Spaces into which an assistant may be let, and
its abilities there. It never gets more than the person has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from psycopg import AsyncConnection
from psycopg.rows import class_row

from headwater.database.queries import Queries, fetch_all
from headwater.spaces.accounts.roles import Permission, Role
from headwater.spaces.accounts.tokens import MAX_TOKENS

queries = Queries(__name__, "consent.sql")

_READS = "see the reports, events, contacts, companies and deliveries of the Space"
_WRITES = "record, change and delete events; change contacts and companies; erase a contact's personal data"


@dataclass(frozen=True)
class SpaceChoice:
    """A Space of the person's."""

    space_id: int
    name: str
    role: Role
    active: bool
    """True while its subscription is active."""
    tokens: int
    """The number of its tokens that work."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "role", Role(self.role))

    @property
    def is_full(self) -> bool:
        """True when it has all the tokens that a Space may have."""
        return self.tokens >= MAX_TOKENS

    @property
    def is_open(self) -> bool:
        """True when an assistant can be let in."""
        return self.active and not self.is_full and self.role.may(Permission.MAKE_TOKENS)

    @property
    def abilities(self) -> tuple[str, ...]:
        """The abilities that the assistant will have there, in words."""
        return (_READS, _WRITES) if self.role.may(Permission.WRITE_DATA) else (_READS,)


class NoSpaceReason(StrEnum):
    """The reason that no Space can be chosen, in words for the user."""

    NO_MEMBER = "The assistant asks for a Space that you are no member of."
    NO_SPACE = "You are a member of no Space."
    INACTIVE = "The Space's subscription is inactive."
    FULL = f"The Space has {MAX_TOKENS} tokens, which is all it may have: revoke one first."
    NONE_OPEN = "None of your Spaces can take an assistant now."


@dataclass(frozen=True)
class ConsentOffer:
    """The Spaces that the user can choose."""

    choices: Sequence[SpaceChoice]
    locked: bool
    """True when the request names the Space."""

    @property
    def hindrance(self) -> NoSpaceReason | None:
        """The reason that there is no choice; None if there is one."""
        if not self.choices:
            return NoSpaceReason.NO_MEMBER if self.locked else NoSpaceReason.NO_SPACE
        if any(choice.is_open for choice in self.choices):
            return None
        if len(self.choices) > 1:
            return NoSpaceReason.NONE_OPEN
        return NoSpaceReason.FULL if self.choices[0].active else NoSpaceReason.INACTIVE

    @property
    def kinds(self) -> dict[tuple[str, ...], str]:
        """The abilities that the assistant can have, each with the roles that give it."""
        roles: dict[tuple[str, ...], dict[Role, None]] = {}
        for choice in self.choices:
            if choice.is_open:
                roles.setdefault(choice.abilities, {})[choice.role] = None
        return {abilities: " or ".join(names) for abilities, names in roles.items()}

    def find(self, space_id: str) -> SpaceChoice | None:
        """The open choice with this id, as a form sends it."""
        choices = (choice for choice in self.choices if choice.is_open)
        return next((choice for choice in choices if str(choice.space_id) == space_id), None)


async def list_choices(connection: AsyncConnection, user_id: int, space_id: int | None) -> ConsentOffer:
    """The Spaces that a user can choose from; for a request that names a Space, this one alone. A
    Space that is not theirs is answered like one that does not exist.
    """
    cursor = connection.cursor(row_factory=class_row(SpaceChoice))
    joined = await fetch_all(cursor, queries["choices"], {"user_id": user_id})
    if space_id is None:
        return ConsentOffer(joined, locked=False)
    return ConsentOffer([choice for choice in joined if choice.space_id == space_id], locked=True)
