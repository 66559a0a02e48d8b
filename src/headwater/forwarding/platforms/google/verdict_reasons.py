"""Google's reasons for rejecting an event after it accepted the request, under our names. Pure."""

from __future__ import annotations

import re

from headwater.forwarding.platforms.verdicts import ReasonMeaning

_PREFIX = re.compile(r"PROCESSING_ERROR_(?:REASON_)?")
_RENAMED = {"no_consent": "consent_missing"}
"""`no_consent` is a skip reason."""

_CLICK_IDS = "send click ids unchanged, and check that nothing shortens or edits the URL of ads"
_WAIT = "wait: it is sent again automatically"
_SEND_CONSENT = "send `consent` with events, or set the Space's ad_consent"

REASONS = {
    "too_recent_click": ReasonMeaning("Google has not processed the click yet", _WAIT, "retrying"),
    "too_recent_call": ReasonMeaning("Google has not processed the call yet", _WAIT, "retrying"),
    "destination_too_recently_created": ReasonMeaning(
        "the conversion action was created only recently", _WAIT, "retrying"
    ),
    "internal_error": ReasonMeaning("Google had an internal error", _WAIT, "retrying"),
    "duplicate_transaction_id": ReasonMeaning("Google already has the event", None, "counted"),
    "duplicate_gclid": ReasonMeaning("Google already has a conversion of the click", None, "counted"),
    "event_too_old": ReasonMeaning("the event is older than the conversion action accepts"),
    "expired_click": ReasonMeaning(
        "the click is older than the look-back window", "extend the conversion action's click window"
    ),
    "conversion_precedes_click": ReasonMeaning(
        "the event's time is before the click", "check the clock and the event_time of the sender"
    ),
    "invalid_gclid": ReasonMeaning("the gclid is not valid", _CLICK_IDS),
    "invalid_gbraid": ReasonMeaning("the gbraid is not valid", _CLICK_IDS),
    "invalid_wbraid": ReasonMeaning("the wbraid is not valid", _CLICK_IDS),
    "click_not_found": ReasonMeaning(
        "Google found no such click", "check that the click belongs to an account of this customer_id"
    ),
    "invalid_click": ReasonMeaning("Google does not accept the click, for example as click fraud"),
    "invalid_event": ReasonMeaning("Google does not accept the event", "check its time, amount and currency"),
    "invalid_format": ReasonMeaning("a field has an invalid format", "check the event's fields"),
    "denied_consent": ReasonMeaning("the person denied consent"),
    "consent_missing": ReasonMeaning("Google requires consent, and none was sent", _SEND_CONSENT),
    "unknown_consent": ReasonMeaning("Google could not determine the consent", _SEND_CONSENT),
    "destination_account_enhanced_conversions_terms_not_signed": ReasonMeaning(
        "the terms of enhanced conversions are not accepted",
        "accept them in Google Ads under Goals, Settings, Enhanced conversions, then replay",
    ),
    "operating_account_mismatch_for_ad_identifier": ReasonMeaning(
        "the click belongs to another account", "set the customer_id of the account with the ads, then replay"
    ),
    "invalid_operating_account_for_click": ReasonMeaning(
        "the account may not report conversions of this click",
        "set the customer_id of the account that owns the conversion action, then replay",
    ),
    "one_per_click_conversion_action_not_permitted_with_braid": ReasonMeaning(
        "the conversion action counts one conversion per click, which gbraid and wbraid don't allow",
        "set the conversion action to count every conversion, then replay",
    ),
    "external_attribution_data_missing": ReasonMeaning(
        "the conversion action expects externally attributed credit",
        "map the event to another conversion action",
    ),
}


def read_name(reason: str) -> str:
    """Return our name: Google's in lower case, without its prefix."""
    name = _PREFIX.sub("", reason, count=1).lower()
    return _RENAMED.get(name, name)
