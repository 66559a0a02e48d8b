"""The roles of members in a Space, and a table of what each allows. Pure."""

from __future__ import annotations

from enum import StrEnum, auto


class Role(StrEnum):
    """The role of a member in one Space."""

    OWNER = "owner"
    ADMIN = "admin"
    VIEWER = "viewer"

    def may(self, permission: Permission) -> bool:
        """True when the role has the permission."""
        return permission in PERMISSIONS[self]


class Permission(StrEnum):
    """An action that a role allows or does not."""

    READ = auto()
    """See the Space: its data, settings, members, keys and tokens."""
    MAKE_TOKENS = auto()
    """Connect assistants, who then may do what the member may, and take one's own tokens away."""
    WRITE_DATA = auto()
    """Change events, contacts and companies."""
    CHANGE_SETTINGS = auto()
    MANAGE_KEYS = auto()
    MANAGE_TOKENS = auto()
    """Take the tokens of others away."""
    MANAGE_MEMBERS = auto()
    """Invite, remove and change members who are not owners."""
    MANAGE_OWNERS = auto()
    """The same of owners."""


_VIEWER = frozenset({Permission.READ, Permission.MAKE_TOKENS})
_ADMIN = _VIEWER | {
    Permission.WRITE_DATA,
    Permission.CHANGE_SETTINGS,
    Permission.MANAGE_KEYS,
    Permission.MANAGE_TOKENS,
    Permission.MANAGE_MEMBERS,
}

PERMISSIONS: dict[Role, frozenset[Permission]] = {
    Role.OWNER: _ADMIN | {Permission.MANAGE_OWNERS},
    Role.ADMIN: _ADMIN,
    Role.VIEWER: _VIEWER,
}


def managing(role: Role) -> Permission:
    """The permission needed to give `role` to a user, or to take it away."""
    return Permission.MANAGE_OWNERS if role is Role.OWNER else Permission.MANAGE_MEMBERS
