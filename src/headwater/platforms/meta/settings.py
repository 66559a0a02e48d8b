"""What a Meta destination is told besides its token."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from headwater.platforms.setting import VERSION_WITH_POINT, code, digits


class MetaSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a dataset (pixel)."""

    pixel_id: Annotated[str, digits(5, 20), Meta(description="Id of the dataset (pixel): digits.")]
    api_version: Annotated[
        str, VERSION_WITH_POINT, Meta(description="Version of the Graph API.")
    ] = "v25.0"
    test_event_code: Annotated[
        Annotated[str, code(1, 64, "_-")] | None,
        Meta(
            description="Code from the Test events tab; used by trials only.",
        ),
    ] = None
    consent_denied: Annotated[
        Literal["limit", "skip"],
        Meta(
            description="Events of people who denied the use of their data for ads: `limit` sends"
            " them for limited data use, `skip` does not send them."
        ),
    ] = "limit"
    limited_data_use: Annotated[
        Literal["denied", "always"],
        Meta(description="Which events carry limited data use (LDU): those of a denial, or all."),
    ] = "denied"
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
