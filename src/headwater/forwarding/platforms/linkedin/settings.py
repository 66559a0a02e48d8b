from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from headwater.http.inputs.account_kinds import AccountSettings
from headwater.http.inputs.account_settings import TokenUrl, matching


class LinkedInSettings(AccountSettings, frozen=True, kw_only=True):
    """The event name mapping selects the conversion rule."""

    api_version: Annotated[
        str,
        matching(r"\A20[0-9]{2}(0[1-9]|1[0-2])\Z", "must be a year and month", "202604"),
        Meta(description="LinkedIn-Version: year and month. LinkedIn ends each after about a year."),
    ] = "202604"
    token_url: Annotated[
        TokenUrl,
        Meta(
            description="The address to exchange refresh tokens. By default LinkedIn's, or"
            " /oauth/v2/accessToken on the host of HEADWATER_LINKEDIN_URL."
        ),
    ] = None
