from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from headwater.forwarding.platforms.settings import ConsentDenied, ConsentSettings, CreditModel, CreditWindow
from headwater.http.inputs.account_settings import Version, code


class ChatGPTAdsSettings(ConsentSettings, frozen=True, kw_only=True):
    pixel_id: Annotated[
        str,
        code(1, 64, "G7za354ukz8KMXzFt6Vayr", "_-"),
        Meta(description="The pixel's id: Ads Manager, Conversions, the data source."),
    ]
    api_version: Annotated[Version, Meta(description="The version of the Conversions API.")] = "v1"
    consent_denied: Annotated[
        ConsentDenied,
        Meta(
            description="Events of people who refused the use of their data for ads: not sent, or sent"
            " with opt_out and only the click id, without anything about the person."
        ),
    ] = "skip"
    credit_model: CreditModel = "off"
    credit_window: CreditWindow = 30
