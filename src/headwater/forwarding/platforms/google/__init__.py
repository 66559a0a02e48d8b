"""Google: Data Manager API, for ads on Google and YouTube. Pure.

Events refer to conversion actions, which a call lists as destinations; with only one, they omit the
reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec

from headwater.base.egress.calls import bearer, make_json_call
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.base.egress.oauth import GOOGLE_TOKEN_URL, find_google_problem, make_google_call
from headwater.forwarding.platforms.amounts import as_number
from headwater.forwarding.platforms.consent import is_refused
from headwater.forwarding.platforms.google import verdict_reasons, verdicts
from headwater.forwarding.platforms.google.responses import classify
from headwater.forwarding.platforms.google.settings import GoogleSettings
from headwater.forwarding.platforms.identifiers import google_email, hash_in_form, phone_with_plus
from headwater.forwarding.platforms.models import Conversion, Destination, SkipReason, Verdict
from headwater.forwarding.platforms.payload_parts import drop_empty, make_list
from headwater.forwarding.platforms.platform import DAY, Corrections, Limits, Platform
from headwater.forwarding.platforms.verdicts import VerdictAnswer

MOST_ACTIONS = 10
"""Per call."""

_SCOPE = "https://www.googleapis.com/auth/datamanager"
_CLICK_IDS = ("gclid", "gbraid", "wbraid")
_SECRETS = {
    "service_account_json": "JSON key file of a service account: Google Cloud, IAM, Service accounts, Keys.",
    "client_id": "Client id of an OAuth client, with client_secret and refresh_token.",
    "client_secret": "Client secret of the OAuth client.",
    "refresh_token": "Refresh token of a user who may send to the account.",
}


class Google(Platform):
    """Conversion actions of a Google Ads account; the token is in a header."""

    name = "google"
    title = "Google Ads"
    url = "https://datamanager.googleapis.com"
    sources = frozenset({"google_ads", "youtube_ads"})
    settings = GoogleSettings
    secrets = _SECRETS
    optional_secrets = frozenset(_SECRETS)
    verdict_reasons = verdict_reasons.REASONS
    limits = Limits(batch=2000, age=90 * DAY)
    corrections = Corrections(age=55 * DAY, accepted="counted")
    name_pattern = r"[0-9]{1,20}"
    name_rule = "must be the id of a conversion action: 1 to 20 digits."
    kept_fields = frozenset(
        {
            "transactionId",
            "eventTimestamp",
            "lastUpdatedTimestamp",
            "eventSource",
            "currency",
            "conversionValue",
            "adUserData",
            "adPersonalization",
            "destinationReferences",
        }
    )

    def find_missing_data(self, conversion: Conversion, destination: Destination) -> SkipReason | None:
        """Accept a click id alone; without consent, nothing else is allowed."""
        if _find_click(conversion):
            return None
        if is_refused(conversion):
            return SkipReason.NO_CONSENT
        return None if _make_identifiers(conversion) else SkipReason.NO_IDENTIFIER

    def build(self, conversion: Conversion, destination: Destination) -> dict[str, Any]:
        settings: GoogleSettings = destination.settings
        amount, consent = conversion.amount, conversion.consent
        identifiers = [] if is_refused(conversion) else _make_identifiers(conversion)
        return drop_empty(
            destinationReferences=make_list(self.find_name(conversion, destination)),
            transactionId=conversion.dedup_id,
            eventTimestamp=_format_timestamp(conversion.event_time),
            eventSource=settings.event_source,
            adIdentifiers=_find_click(conversion),
            userData=drop_empty(userIdentifiers=identifiers),
            currency=None if amount is None else conversion.currency,
            conversionValue=None if amount is None else as_number(amount),
            consent=drop_empty(
                adUserData=_format_consent(consent.ad_user_data),
                adPersonalization=_format_consent(consent.ad_personalization),
            ),
        )

    def build_correction(
        self, conversion: Conversion, destination: Destination, moment: float
    ) -> dict[str, Any]:
        """Google replaces the amount of the transaction. One that was taken back stays, with the value 0."""
        amount = conversion.amount or Decimal(0)
        content = self.build(msgspec.structs.replace(conversion, amount=amount), destination)
        return content | {"lastUpdatedTimestamp": _format_timestamp(int(moment * 1000))}

    def count_fitting(self, parts: Sequence[dict[str, Any]]) -> int:
        actions: set[str] = set()
        for position, content in enumerate(parts):
            actions.update(content["destinationReferences"])
            if len(actions) > MOST_ACTIONS:
                return position
        return len(parts)

    def request(self, parts: Sequence[dict[str, Any]], destination: Destination) -> EgressRequest:
        settings: GoogleSettings = destination.settings
        actions = dict.fromkeys(name for content in parts for name in content["destinationReferences"])
        has_several_actions = len(actions) > 1
        body = {
            "destinations": [
                _make_destination(action, settings, is_named=has_several_actions) for action in actions
            ],
            "encoding": "HEX",
            "validateOnly": destination.test,
            "events": parts if has_several_actions else [_drop_references(content) for content in parts],
        }
        url = f"{destination.url}/{settings.api_version}/events:ingest"
        return make_json_call(url, body, bearer(destination.access_token))

    def classify(self, answer: EgressResponse, count: int) -> Verdict:
        return classify(answer, count)

    def read_request_id(self, answer: EgressResponse) -> str | None:
        return verdicts.read_request_id(answer)

    def verdict_request(self, request_id: str, destination: Destination) -> EgressRequest:
        return verdicts.make_request(request_id, destination)

    def read_verdicts(
        self, answer: EgressResponse, parts: Mapping[int, dict[str, Any] | None]
    ) -> VerdictAnswer:
        return verdicts.read_verdicts(answer, parts)

    def token_request(self, destination: Destination, current_time: float) -> EgressRequest:
        settings: GoogleSettings = destination.settings
        url = settings.token_url or self.address(destination.url, GOOGLE_TOKEN_URL)
        return make_google_call(url, destination.secrets, _SCOPE, current_time)

    def secrets_problem(self, secrets: Mapping[str, str]) -> str | None:
        return find_google_problem(secrets)


def _make_destination(action: str, settings: GoogleSettings, *, is_named: bool) -> dict[str, Any]:
    return drop_empty(
        reference=action if is_named else None,
        operatingAccount=_make_account(settings.customer_id),
        loginAccount=_make_account(settings.login_customer_id) if settings.login_customer_id else None,
        productDestinationId=action,
    )


def _make_account(customer_id: str) -> dict[str, str]:
    return {"accountType": "GOOGLE_ADS", "accountId": customer_id}


def _drop_references(content: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name != "destinationReferences"}


def _find_click(conversion: Conversion) -> dict[str, str]:
    """Prefer the most precise click id, of the touchpoint or the event's URL."""
    credited = conversion.click.ids if conversion.click is not None else {}
    for ids in (credited, conversion.url_click_ids):
        for name in _CLICK_IDS:
            if ids.get(name):
                return {name: ids[name]}
    return {}


def _make_identifiers(conversion: Conversion) -> list[dict[str, str]]:
    # Google uses names and addresses only with a postal code.
    email = hash_in_form(conversion.person.email, google_email)
    phone = hash_in_form(conversion.person.phone, phone_with_plus)
    return [
        identifier
        for identifier in (drop_empty(emailAddress=email), drop_empty(phoneNumber=phone))
        if identifier
    ]


def _format_consent(agreed: bool | None) -> str | None:
    if agreed is None:
        return None
    return "CONSENT_GRANTED" if agreed else "CONSENT_DENIED"


def _format_timestamp(milliseconds: int) -> str:
    seconds, milliseconds_part = divmod(milliseconds, 1000)
    fraction = f".{milliseconds_part:03}" if milliseconds_part else ""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}{fraction}Z"
