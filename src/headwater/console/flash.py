"""The message of a page after a redirect: one of a closed set, named in a cookie."""

from __future__ import annotations

from enum import StrEnum


class FlashMessage(StrEnum):
    """A message on a page. The cookie holds its name, so nobody else's words can get onto one."""

    LOGGED_OUT = "You are logged out."
    LOGGED_OUT_EVERYWHERE = "You are logged out everywhere."
    SESSION_CLOSED = "That browser is logged out."
    PASSWORD_CHANGED = "Your password is changed. Other browsers are logged out."  # noqa: S105
    PASSWORD_CHOSEN = "Your password is changed, your tokens are revoked. Log in with it."  # noqa: S105
    NAME_CHANGED = "Your name is changed."
    SETTINGS_SAVED = "The settings are saved."
    NOTHING_CHANGED = "Nothing was changed."
    KEY_REVOKED = "The API key is revoked. It stopped working at once."
    TOKEN_REVOKED = "The token is revoked. It stopped working at once."  # noqa: S105
    MEMBER_REMOVED = "The member is removed, and their tokens for this Space are revoked."
    LEFT = "You have left the Space."
    ROLE_CHANGED = "The role is changed."
    INVITATION_REVOKED = "The invitation is taken back."
    JOINED = "Welcome: you are a member of this Space now."
    VIEW_SAVED = "The view is saved: it is under Views on every report."
    VIEW_REMOVED = "The view is removed."
    DESTINATION_RESUMED = "The destination is resumed: what waits is sent now."
    REPLAYED = "They are processed once more, which takes a moment."
    SOURCE_NAMED = "Saved. It counts for visits from now on, and soon for those of the past."
    SOURCE_NAME_REMOVED = (
        "The name is removed. Visits go by the rules again: new ones now, those of the past soon."
    )
    HOST_OWN = "The domain is one of your own now: visits from it begin no new touchpoint."
    HOST_EXCLUDED = "The host is excluded now: visits from it begin no new touchpoint."
    MERGE_UNDONE = "The merge is undone: this contact is one of its own again."
    SET_UP = "Welcome: your account and your Space are ready."


def read_flash(name: str | None) -> str | None:
    """The sentence that a cookie names."""
    return FlashMessage[name].value if name and name in FlashMessage.__members__ else None
