"""The person's consent to the use of their data for ads, by the rules that hold for every
platform. Pure.
"""

from __future__ import annotations

from headwater.forwarding.platforms.models import Conversion


def is_refused(conversion: Conversion) -> bool:
    """Return whether the person refuses the use of their data for ads."""
    return conversion.consent.ad_user_data is False


def is_limited(conversion: Conversion) -> bool:
    """Return whether the person refuses any of the uses."""
    return is_refused(conversion) or conversion.consent.ad_personalization is False
