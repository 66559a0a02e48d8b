"""Answers of the endpoints of exchange rates."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from msgspec import Meta, Struct

from headwater.http.answers import DataPage


class RateAnswer(Struct, frozen=True):
    """An exchange rate of the Space's own."""

    date: date
    base: str
    currency: str
    rate: Annotated[float, Meta(description="Units of `currency` for one of `base`.")]


class RatePage(DataPage[RateAnswer], frozen=True):
    """One page of exchange rates."""
