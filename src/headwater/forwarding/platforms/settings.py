"""Settings and rules shared by platforms. Pure."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from headwater.forwarding.platforms.consent import is_limited
from headwater.forwarding.platforms.models import Conversion
from headwater.http.inputs.account_kinds import AccountSettings
from headwater.http.inputs.account_settings import code

TestEventCode = Annotated[
    Annotated[str, code(1, 64, "TEST12345", "_-")] | None,
    Meta(
        description="Code that keeps test events from counting: Events Manager, Test events."
        " Only tests carry it."
    ),
]
ConsentDenied = Annotated[
    Literal["limit", "skip"],
    Meta(
        description="Events of people who denied the use of their data for ads: `limit` sends"
        " them for limited data use, `skip` does not send them."
    ),
]
LimitedDataUse = Annotated[
    Literal["denied", "always"],
    Meta(description="Which events are sent for limited data use: those with denied consent, or all."),
]


_CreditModel = Literal[
    "off",
    "first_touch",
    "last_touch",
    "linear",
    "first_platform_touch",
    "last_platform_touch",
    "linear_paid",
    "u_shaped",
    "time_decay",
    "last_non_direct_touch",
]
CreditModel = Annotated[
    _CreditModel,
    Meta(
        description="The attribution model whose credit the platform is sent for its clicks, such as linear;"
        " off sends none."
    ),
]
CreditWindow = Annotated[
    int, Meta(ge=0, le=90, description="Days before the conversion in which clicks get credit; 0 for all.")
]


class ConsentSettings(AccountSettings, frozen=True, kw_only=True):
    """Settings of platforms with a consent field."""

    consent_denied: ConsentDenied = "limit"


class LimitedDataUseSettings(ConsentSettings, frozen=True, kw_only=True):
    """Settings of platforms with limited data use, which can be set for all events."""

    limited_data_use: LimitedDataUse = "denied"

    def limits(self, conversion: Conversion) -> bool:
        return self.limited_data_use == "always" or is_limited(conversion)
