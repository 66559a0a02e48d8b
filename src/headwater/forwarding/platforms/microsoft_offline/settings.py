from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from headwater.forwarding.platforms.settings import CreditModel, CreditWindow
from headwater.http.inputs.account_kinds import AccountSettings
from headwater.http.inputs.account_settings import Version, digits


class MicrosoftOfflineSettings(AccountSettings, frozen=True, kw_only=True):
    """The event name mapping selects the conversion goal."""

    customer_id: Annotated[
        str,
        digits(1, 20, "12345678"),
        Meta(
            description="Number of the customer that owns the account: `cid` in the address of Microsoft"
            " Advertising."
        ),
    ]
    account_id: Annotated[
        str, digits(1, 20, "123456789"), Meta(description="Number of the ad account: `aid` in that address.")
    ]
    api_version: Annotated[Version, Meta(description="Version of the Bing Ads API.")] = "v13"
    credit_model: CreditModel = "off"
    credit_window: CreditWindow = 30
