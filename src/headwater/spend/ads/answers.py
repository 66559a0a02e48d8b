"""Answers of the endpoints of the ad catalogue."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from headwater.http.answers import DataPage, Instant


class AdNameAnswer(Struct, frozen=True):
    """The name of a campaign, ad set, ad or account."""

    kind: Literal["campaign", "adset", "ad", "account"]
    id: str
    name: str
    platform: str | None
    updated_at: Instant


class AdNamePage(DataPage[AdNameAnswer], frozen=True):
    """One page of the ad catalogue."""
