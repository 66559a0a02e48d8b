"""Messages shown after a redirect."""

from __future__ import annotations

from enum import StrEnum


class FlashMessage(StrEnum):
    """A cookie holds only a name, so outside text can't reach a page."""

    LOGGED_OUT = "You are logged out."
    LOGGED_OUT_EVERYWHERE = "You are logged out everywhere."
    SESSION_CLOSED = "That browser is logged out."
    PASSWORD_CHANGED = "Your password is changed. Other browsers are logged out."  # noqa: S105
    PASSWORD_CHOSEN = "Your password is changed and your tokens are revoked. Log in with the new password."  # noqa: S105
    NAME_CHANGED = "Your name is changed."
    SETTINGS_SAVED = "The settings are saved."
    NOTHING_CHANGED = "Nothing was changed."
    KEY_REVOKED = "The API key is revoked and no longer works."
    TOKEN_REVOKED = "The token is revoked and no longer works."  # noqa: S105
    MEMBER_REMOVED = "The member is removed, and their tokens for this Space are revoked."
    LEFT = "You have left the Space."
    ROLE_CHANGED = "The role is changed."
    INVITATION_REVOKED = "The invitation is revoked."
    JOINED = "Welcome! You are now a member of this Space."
    VIEW_SAVED = "View saved. Find it under Views on every report."
    LINK_REVOKED = "The link is revoked and no longer works."
    NOTE_ADDED = "Note added. Charts mark its day."
    NOTE_CHANGED = "The note is changed."
    NOTE_REMOVED = "The note is deleted."
    RATES_STORED = "Rates stored. Reports use them from now on."
    SPEND_DELETED = "The spend rows are deleted and no longer in reports."
    MODEL_TRAINED = "The model is trained. It never changes."
    MODEL_CHOSEN = "This model is now current: the Markov model uses it unless you choose another."
    VIEW_REMOVED = "The view is removed."
    DESTINATION_RESUMED = "The destination is resumed. Waiting events are sent now."
    DESTINATION_PAUSED = "The destination is paused. Nothing is sent, and new events are skipped."
    DESTINATION_REMOVED = "The destination and its tokens are deleted."
    TOKENS_UNREADABLE = "Its tokens can no longer be decrypted. Enter them again."
    DELIVERIES_REPLAYED = "Queued again, under the ids that the platform knows."
    DELIVERIES_REPLAYED_IN_PART = "The oldest 10,000 are queued again. Replay to queue more."
    DELIVERIES_TOO_OLD = "Nothing was replayed: the platform doesn't accept events this old."
    REPLAYED = "They are being processed again."
    PHRASE_ADDED = "Saved. It applies to new answers now and to earlier ones soon."
    PHRASE_REMOVED = "Removed. The other phrases apply to new answers now and to earlier ones soon."
    NETWORK_ADDED = "Network saved. Past visits are reclassified in the background."
    NETWORK_REMOVED = "Network removed. Past visits are reclassified in the background."
    SOURCE_NAMED = "Saved. It applies to new visits now and to earlier ones soon."
    SOURCE_NAME_REMOVED = "Name removed. The general rules apply to new visits now and to earlier ones soon."
    HOST_OWN = "The domain is now your own. Visits from it create no touchpoint."
    HOST_EXCLUDED = "The host is excluded. Visits from it create no touchpoint."
    SITE_CREATED = "Site created. Put its snippet into your pages, then test it."
    SITE_CHANGED = "The site is saved."
    SITE_ENDED = "The site has ended. Events with its key are refused."
    HOSTS_SAVED = "The hosts are saved and apply to new visits."
    MERGE_UNDONE = "The merge is undone. This contact is separate again."
    WEBHOOK_PAUSED = "The webhook is paused. Deliveries are stored without creating events."
    WEBHOOK_RESUMED = "The webhook is resumed. Replay the deliveries stored meanwhile."
    WEBHOOK_DELETED = "The webhook is deleted. Its address no longer works."
    SECRET_SAVED = "The signing secret is saved and applies from the next delivery."  # noqa: S105
    MAPPING_SAVED = "The mapping is saved. Replay refused deliveries to apply it."
    DELIVERY_REPLAYED = "Replayed. Its event is accepted."
    DELIVERY_STILL_REFUSED = "Replayed, but without an event. See the reason below."
    ALL_REPLAYED = "All replayed. Their events are accepted."
    SOME_REPLAYED = "Replayed, but some without an event. See the reasons below."
    NONE_REPLAYED = "Replayed, but without events. See the reasons below."
    IMPORT_STARTED = "The import has started. You can leave this page."
    IMPORT_CANCELLED = "The import is cancelled and its file removed."
    ALERT_ACKNOWLEDGED = "Acknowledged. You won't be notified again until it is resolved."
    RULE_SAVED = "The rule is saved and applies from the next check."
    RULE_DELETED = "The rule is deleted."
    CHANNEL_MADE = "Channel created. Test it now."
    CHANNEL_UNCONFIRMED = "Channel created. It works after the recipient accepts our e-mail."
    CHANNEL_SAVED = "The channel is saved."
    CHANNEL_REMOVED = "The channel and its address are deleted."
    REPORT_SCHEDULED = "The report is scheduled."
    REPORT_REMOVED = "The report is no longer sent."
    SET_UP = "Welcome: your account and your Space are ready."


def read_flash(name: str | None) -> str | None:
    return FlashMessage[name].value if name and name in FlashMessage.__members__ else None
