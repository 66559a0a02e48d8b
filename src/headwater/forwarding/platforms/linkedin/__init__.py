"""LinkedIn: Conversions API. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.base.egress.calls import bearer, make_json_call
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.base.egress.oauth import LINKEDIN_TOKEN_URL, find_linkedin_problem, make_linkedin_call
from headwater.forwarding.platforms.amounts import as_text
from headwater.forwarding.platforms.identifiers import hash_in_form, plain_email, plain_external_id
from headwater.forwarding.platforms.linkedin.responses import classify
from headwater.forwarding.platforms.linkedin.settings import LinkedInSettings
from headwater.forwarding.platforms.models import Conversion, Destination, SkipReason, Verdict
from headwater.forwarding.platforms.payload_parts import drop_empty, make_list
from headwater.forwarding.platforms.platform import DAY, Limits, Platform

RULE = "urn:lla:llaPartnerConversion:"

_SECRETS = {
    "access_token": "Access token with rw_conversions, used as it is until it expires.",
    "client_id": "Client id of the app, with client_secret and refresh_token.",
    "client_secret": "Client secret of the app.",
    "refresh_token": "Refresh token, used to renew expired access tokens.",
}


class LinkedIn(Platform):
    """Conversion rules of an ad account; the token is in a header. LinkedIn has no consent field, so events
    of people who refused aren't sent.
    """

    name = "linkedin"
    title = "LinkedIn Ads"
    has_test_mode = False
    url = "https://api.linkedin.com"
    sources = frozenset({"linkedin_ads"})
    settings = LinkedInSettings
    secrets = _SECRETS
    optional_secrets = frozenset(_SECRETS)
    limits = Limits(batch=5000, age=90 * DAY)
    name_pattern = rf"({RULE})?[0-9]{{1,20}}"
    name_rule = f"must be the id of a conversion rule: 1 to 20 digits, after {RULE} or alone."
    kept_fields = frozenset(
        {"conversion", "conversionHappenedAt", "currencyCode", "amount", "eventId", "idType"}
    )

    def find_missing_data(self, conversion: Conversion, destination: Destination) -> SkipReason | None:
        identifiers = _make_user_ids(conversion) or _make_user_info(conversion)
        return None if identifiers else SkipReason.NO_IDENTIFIER

    def build(self, conversion: Conversion, destination: Destination) -> dict[str, Any]:
        rule = self.find_name(conversion, destination) or ""
        # required even if empty
        user = {"userIds": _make_user_ids(conversion)} | drop_empty(
            userInfo=_make_user_info(conversion),
            externalIds=make_list(plain_external_id(conversion.person.external_id)),
        )
        return drop_empty(
            conversion=rule if rule.startswith(RULE) else f"{RULE}{rule}",
            conversionHappenedAt=conversion.event_time,
            conversionValue=_make_value(conversion),
            eventId=conversion.dedup_id,
            user=user,
        )

    def request(self, parts: Sequence[dict[str, Any]], destination: Destination) -> EgressRequest:
        settings: LinkedInSettings = destination.settings
        headers = {
            "LinkedIn-Version": settings.api_version,
            "X-Restli-Protocol-Version": "2.0.0",
            "X-RestLi-Method": "BATCH_CREATE",
        }
        access_token = destination.access_token or destination.secrets.get("access_token", "")
        url = f"{destination.url}/rest/conversionEvents"
        return make_json_call(url, {"elements": parts}, bearer(access_token) | headers)

    def classify(self, answer: EgressResponse, count: int) -> Verdict:
        return classify(answer, count)

    def token_request(self, destination: Destination, current_time: float) -> EgressRequest | None:
        settings: LinkedInSettings = destination.settings
        url = settings.token_url or self.address(destination.url, LINKEDIN_TOKEN_URL)
        return make_linkedin_call(url, destination.secrets)

    def secrets_problem(self, secrets: Mapping[str, str]) -> str | None:
        return find_linkedin_problem(secrets)


def _make_user_ids(conversion: Conversion) -> list[dict[str, str]]:
    ids = {
        "SHA256_EMAIL": hash_in_form(conversion.person.email, plain_email),
        "LINKEDIN_FIRST_PARTY_ADS_TRACKING_UUID": conversion.click_id("li_fat_id"),
    }
    return [{"idType": kind, "idValue": value} for kind, value in ids.items() if value]


def _make_user_info(conversion: Conversion) -> dict[str, Any]:
    """Return both names or neither: LinkedIn rejects one alone."""
    person = conversion.person
    if not person.first_name or not person.last_name:
        return {}
    return drop_empty(firstName=person.first_name, lastName=person.last_name, countryCode=person.country)


def _make_value(conversion: Conversion) -> dict[str, Any]:
    if conversion.amount is None or not conversion.currency:
        return {}
    return {"currencyCode": conversion.currency, "amount": as_text(conversion.amount)}
