"""Messages shown after a redirect, named in a cookie."""

from __future__ import annotations

from enum import StrEnum


class FlashMessage(StrEnum):
    """The cookie holds only a name, so outside text can't reach a page."""

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
    LINK_REVOKED = "The link is revoked and no longer opens anything."
    NOTE_ADDED = "The note is added: charts mark its day."
    NOTE_CHANGED = "The note is changed."
    NOTE_REMOVED = "The note is deleted."
    RATES_STORED = "The rates are stored: reports use them from now on."
    SPEND_DELETED = "The rows of spend are deleted: reports are without them from now on."
    FIT_MADE = "The fit is made. It is never changed from now on."
    FIT_CHOSEN = "The fit is current: the Markov model uses it unless you pick another."
    VIEW_REMOVED = "The view is removed."
    DESTINATION_RESUMED = "The destination is resumed: what waits is sent now."
    DESTINATION_PAUSED = "The destination is paused: nothing is sent, and what arrives is skipped."
    DESTINATION_REMOVED = "The destination is removed, and its tokens are forgotten."
    TOKENS_UNREADABLE = "Its tokens can no longer be decrypted. Enter them again."
    DELIVERIES_REPLAYED = "They wait to be sent once more, under the ids that the platform knows."
    DELIVERIES_REPLAYED_IN_PART = "The oldest 10,000 wait to be sent again. Replay the rest, too."
    DELIVERIES_TOO_OLD = "Nothing was replayed: the platform takes no events of that age."
    REPLAYED = "They are processed once more, which takes a moment."
    PHRASE_ADDED = "Saved. It applies to new answers now, and to earlier ones soon."
    PHRASE_REMOVED = "Removed. The other phrases apply to new answers now, and to earlier ones soon."
    NETWORK_ADDED = "Network saved. Past visits are reclassified in the background."
    NETWORK_REMOVED = "Network removed. Past visits are reclassified in the background."
    SOURCE_NAMED = "Saved. It applies to new visits now, and to earlier ones soon."
    SOURCE_NAME_REMOVED = (
        "The name is removed. The general rules apply to new visits now, and to earlier ones soon."
    )
    HOST_OWN = "The domain is one of your own now: visits from it begin no new touchpoint."
    HOST_EXCLUDED = "The host is excluded now: visits from it begin no new touchpoint."
    SITE_CREATED = "The site is created. Put its snippet into your pages, then test it."
    SITE_CHANGED = "The site is saved. It counts from now on."
    SITE_ENDED = "The site has ended: reports with its key are refused."
    HOSTS_SAVED = "The hosts are saved. They count for visits from now on."
    MERGE_UNDONE = "The merge is undone: this contact is one of its own again."
    WEBHOOK_PAUSED = "The webhook is paused: what comes is kept, and makes no events."
    WEBHOOK_RESUMED = "The webhook works again. Replay what came meanwhile."
    WEBHOOK_DELETED = "The webhook is deleted. Its address stopped working at once."
    SECRET_SAVED = "The signing secret is saved. It counts from the next delivery on."  # noqa: S105
    MAPPING_SAVED = "The mapping is saved. Replay deliveries that were refused before."
    DELIVERY_REPLAYED = "The delivery is read once more, and its event is accepted."
    DELIVERY_STILL_REFUSED = "The delivery was read once more, and makes no event: see why below."
    ALL_REPLAYED = "All of them are read once more, and their events are accepted."
    SOME_REPLAYED = "They are read once more. Some still make no event: see why below."
    NONE_REPLAYED = "They were read once more, and make no event: see why below."
    IMPORT_STARTED = "The import has started. It goes on when you leave this page."
    IMPORT_CANCELLED = "The import is cancelled, and its file is removed."
    ALERT_ACKNOWLEDGED = "Acknowledged. You won't be notified again until it is resolved."
    RULE_SAVED = "The rule is saved. It counts from the next look on."
    CHANNEL_MADE = "The channel is made. Test it now."
    CHANNEL_UNCONFIRMED = "The channel is made. It works once the address has agreed to a mail."
    CHANNEL_SAVED = "The channel is saved."
    CHANNEL_REMOVED = "The channel is removed, and its address forgotten."
    REPORT_SCHEDULED = "The report is scheduled."
    REPORT_REMOVED = "The report is no longer sent."
    SET_UP = "Welcome: your account and your Space are ready."


def read_flash(name: str | None) -> str | None:
    return FlashMessage[name].value if name and name in FlashMessage.__members__ else None
