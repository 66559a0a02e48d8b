"""The person's consent to the use of their data for ads, as it bears on every platform. Pure."""

from __future__ import annotations

from headwater.platforms.models import Conversion


def is_refused(conversion: Conversion) -> bool:
    """Return whether the person does not want their data used for ads."""
    return conversion.consent.ad_user_data is False


def is_limited(conversion: Conversion) -> bool:
    """Return whether the person refuses any of the uses."""
    return is_refused(conversion) or conversion.consent.ad_personalization is False
