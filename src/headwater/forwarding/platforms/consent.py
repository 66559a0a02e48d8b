"""Consent to the use of data for ads. Pure."""

from __future__ import annotations

from headwater.forwarding.platforms.models import Conversion


def is_refused(conversion: Conversion) -> bool:
    return conversion.consent.ad_user_data is False


def is_limited(conversion: Conversion) -> bool:
    return is_refused(conversion) or conversion.consent.ad_personalization is False
