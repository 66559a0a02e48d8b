"""The roles of members, and the permissions of each. Pure."""

from __future__ import annotations

from enum import StrEnum, auto


class Role(StrEnum):
    OWNER = "owner"
    ADMIN = "admin"
    VIEWER = "viewer"

    def may(self, permission: Permission) -> bool:
        return permission in PERMISSIONS[self]


class Permission(StrEnum):
    READ = auto()
    """See the Space: its data, settings, members, keys and tokens."""
    MAKE_TOKENS = auto()
    """Connect assistants with the member's own rights, and revoke their tokens."""
    WRITE_DATA = auto()
    """Change events, contacts and companies."""
    CHANGE_SETTINGS = auto()
    MANAGE_KEYS = auto()
    MANAGE_TOKENS = auto()
    MANAGE_MEMBERS = auto()
    """Invite, remove and change members who are not owners."""
    MANAGE_OWNERS = auto()


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
    return Permission.MANAGE_OWNERS if role is Role.OWNER else Permission.MANAGE_MEMBERS
