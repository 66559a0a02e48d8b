"""Microsoft Advertising: offline conversions of the Campaign Management API, and their corrections. Pure.

A conversion has no id: its goal, time and click id are its key. Microsoft counts the first with a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from headwater.attribution.models import MODELS
from headwater.base.egress import microsoft_ads
from headwater.base.egress.calls import bearer, make_json_call
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.forwarding.platforms.amounts import as_number
from headwater.forwarding.platforms.identifiers import hash_in_form, microsoft_email, phone_with_plus
from headwater.forwarding.platforms.microsoft_offline.responses import classify
from headwater.forwarding.platforms.microsoft_offline.settings import MicrosoftOfflineSettings
from headwater.forwarding.platforms.models import ClickCredit, Conversion, Destination, SkipReason, Verdict
from headwater.forwarding.platforms.payload_parts import drop_empty
from headwater.forwarding.platforms.platform import DAY, Corrections, CreditReports, Limits, Platform

_CLICK_ID = "msclkid"


class MicrosoftOffline(Platform):
    """Offline conversion goals of an ad account. Microsoft has no consent field, so events of people who
    refused aren't sent.
    """

    name = "microsoft_offline"
    title = "Microsoft Advertising (offline conversions)"
    has_test_mode = False
    url = "https://campaign.api.bingads.microsoft.com"
    sources = frozenset({"bing_ads"})
    settings = MicrosoftOfflineSettings
    secrets = microsoft_ads.SECRETS
    optional_secrets = microsoft_ads.OPTIONAL_SECRETS
    limits = Limits(batch=1000, age=90 * DAY)
    repeat_click = _CLICK_ID
    corrections = Corrections(age=90 * DAY, are_separate=True)
    credits = CreditReports(age=90 * DAY, ids=frozenset({_CLICK_ID}), replaces_conversion=True)
    name_pattern = ".{1,100}"
    name_rule = "must be the name of an offline conversion goal: 1 to 100 characters."
    kept_fields = frozenset(
        {
            "ConversionName",
            "ConversionTime",
            "ConversionValue",
            "ConversionCurrencyCode",
            "ExternalAttributionCredit",
            "ExternalAttributionModel",
            "AdjustmentTime",
            "AdjustmentType",
            "AdjustmentValue",
            "AdjustmentCurrencyCode",
        }
    )
    quoted_fields = frozenset({"Details"})

    def find_missing_data(self, conversion: Conversion, destination: Destination) -> SkipReason | None:
        return None if _make_identifiers(conversion) else SkipReason.NO_IDENTIFIER

    def build(self, conversion: Conversion, destination: Destination) -> dict[str, Any]:
        amount = conversion.amount
        return (
            self._make_key(conversion, destination)
            | _make_identifiers(conversion)
            | drop_empty(
                ConversionValue=None if amount is None else as_number(amount),
                ConversionCurrencyCode=None if amount is None else conversion.currency,
            )
        )

    def build_correction(
        self, conversion: Conversion, destination: Destination, moment: float
    ) -> dict[str, Any]:
        """Restate the value, or retract the conversion if nothing of it is left."""
        amount = conversion.amount or None
        return self._make_key(conversion, destination) | drop_empty(
            MicrosoftClickId=conversion.click_id(_CLICK_ID),
            AdjustmentTime=_format_time(int(moment * 1000)),
            AdjustmentType="Retract" if amount is None else "Restate",
            AdjustmentValue=None if amount is None else as_number(amount),
            AdjustmentCurrencyCode=None if amount is None else conversion.currency,
        )

    def skip_correction(self, conversion: Conversion, destination: Destination) -> SkipReason | None:
        """Demand the click id: e-mail and phone may have changed since, and would not find the conversion."""
        if conversion.click_id(_CLICK_ID) is None:
            return SkipReason.NO_IDENTIFIER
        return super().skip_correction(conversion, destination)

    def build_credit(
        self, conversion: Conversion, destination: Destination, credit: ClickCredit
    ) -> dict[str, Any]:
        """Return the conversion of one click, with its share."""
        return self.build(conversion, destination) | {
            "ExternalAttributionCredit": as_number(credit.frozen.share),
            "ExternalAttributionModel": MODELS[credit.frozen.model].title,
        }

    def _make_key(self, conversion: Conversion, destination: Destination) -> dict[str, Any]:
        return drop_empty(
            ConversionName=self.find_name(conversion, destination),
            ConversionTime=_format_time(conversion.event_time),
        )

    def request(self, parts: Sequence[dict[str, Any]], destination: Destination) -> EgressRequest:
        return _make_call("OfflineConversions", parts, destination)

    def correction_request(self, parts: Sequence[dict[str, Any]], destination: Destination) -> EgressRequest:
        return _make_call("OfflineConversionAdjustments", parts, destination)

    def classify(self, answer: EgressResponse, count: int) -> Verdict:
        """Judge an answer to conversions or corrections."""
        return classify(answer, count)

    def token_request(self, destination: Destination, current_time: float) -> EgressRequest:
        url = self.address(destination.url, microsoft_ads.TOKEN_URL)
        return microsoft_ads.make_token_call(url, destination.secrets)


def _make_call(kind: str, parts: Sequence[dict[str, Any]], destination: Destination) -> EgressRequest:
    settings: MicrosoftOfflineSettings = destination.settings
    headers = microsoft_ads.make_headers(destination.secrets, settings.customer_id, settings.account_id)
    url = f"{destination.url}/CampaignManagement/{settings.api_version}/{kind}/Apply"
    return make_json_call(url, {kind: parts}, bearer(destination.access_token) | headers)


def _make_identifiers(conversion: Conversion) -> dict[str, Any]:
    return drop_empty(
        MicrosoftClickId=conversion.click_id(_CLICK_ID),
        HashedEmailAddress=hash_in_form(conversion.person.email, microsoft_email),
        HashedPhoneNumber=hash_in_form(conversion.person.phone, phone_with_plus),
    )


def _format_time(milliseconds: int) -> str:
    """Return whole seconds: a correction must repeat the time exactly as Microsoft has stored it."""
    return f"{datetime.fromtimestamp(milliseconds // 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"
