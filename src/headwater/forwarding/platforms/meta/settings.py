from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from headwater.forwarding.platforms.settings import (
    CreditModel,
    CreditWindow,
    LimitedDataUseSettings,
    TestEventCode,
)
from headwater.http.inputs.account_settings import PointVersion, digits


class MetaSettings(LimitedDataUseSettings, frozen=True, kw_only=True):
    pixel_id: Annotated[
        str,
        digits(5, 20, "1234567890123456"),
        Meta(description="Id of the dataset (pixel): Events Manager, Data sources, Settings."),
    ]
    api_version: Annotated[PointVersion, Meta(description="Version of the Graph API.")] = "v25.0"
    test_event_code: TestEventCode = None
    credit_model: CreditModel = "off"
    credit_window: CreditWindow = 30
    data_processing_country: Annotated[
        int, Meta(ge=0, le=9999, description="With LDU: 1 for the USA, 0 to let Meta find out.")
    ] = 0
    data_processing_state: Annotated[
        int,
        Meta(
            ge=0,
            le=9999,
            description="With LDU: Meta's number of the state, such as 1000 for California; 0 to"
            " let Meta find out.",
        ),
    ] = 0
