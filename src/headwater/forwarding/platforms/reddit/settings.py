"""What a Reddit destination is told besides its token."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class RedditSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Reddit pixel and how events go to it."""

    pixel_id: Annotated[
        str,
        Meta(
            pattern=r"\A[A-Za-z0-9_-]{1,64}\Z",
            description="The pixel's id, such as a2_abc123: Ads Manager, Events Manager.",
        ),
    ]
    api_version: Annotated[
        str, Meta(pattern=r"\Av[0-9]{1,3}\Z", description="The version of Reddit's Ads API.")
    ] = "v3"
    test_id: Annotated[
        Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_.-]{1,128}\Z")] | None,
        Meta(
            description="The id that Ads Manager shows under Event Testing. Only trials carry it."
        ),
    ] = None
    hash_ip: Annotated[
        bool,
        Meta(description="Whether the IP address is hashed. Reddit takes it in clear as well."),
    ] = True
    consent_denied: Annotated[
        Literal["limit", "skip"],
        Meta(
            description="What becomes of an event whose person refused the use of their data for "
            "ads: sent for limited data use, or not sent."
        ),
    ] = "limit"
    limited_data_use: Annotated[
        Literal["denied", "always"],
        Meta(description="Which events are sent for limited data use: those of a denial, or all."),
    ] = "denied"
    limited_data_use_country: Annotated[
        Annotated[str, Meta(pattern=r"\A[A-Z]{2}\Z")] | None,
        Meta(
            description="ISO 3166-1 alpha-2, sent with limited data use; without it the person's."
        ),
    ] = None
    limited_data_use_region: Annotated[
        Annotated[str, Meta(pattern=r"\A[A-Z]{2}-[A-Z0-9]{1,3}\Z")] | None,
        Meta(description="ISO 3166-2, such as US-CA, sent with limited data use."),
    ] = None
