"""A Space's part in the rules by which sources are named."""

from __future__ import annotations

from typing import NamedTuple

from headwater.sources.exclusions import SHIPPED, Exclusions
from headwater.sources.source_names import SHIPPED_ALONE, SourceNames


class SourceRules(NamedTuple):
    """A Space's exclusions and its own names of sources."""

    exclusions: Exclusions
    names: SourceNames


SHIPPED_RULES = SourceRules(SHIPPED, SHIPPED_ALONE)
"""The rules of a Space that has no part in them."""
