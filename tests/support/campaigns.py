"""How long a campaign is: short in every run of the tests, long by `make long`.

`HEADWATER_LONG` makes every campaign that runs as long as its name says; a campaign's own variable
sets a number for it alone.
"""

from __future__ import annotations

import os

IS_LONG = bool(os.environ.get("HEADWATER_LONG"))


def campaign_size(variable: str, usual: int, long: int) -> int:
    """Return how many of its trials a campaign has: its variable's, or else the long form's where
    HEADWATER_LONG is set.
    """
    return int(os.environ.get(variable, str(long if IS_LONG else usual)))
