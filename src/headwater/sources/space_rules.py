from __future__ import annotations

from typing import NamedTuple

from headwater.sources.exclusions import SHIPPED, Exclusions
from headwater.sources.source_names import SHIPPED_ALONE, SourceNames


class SourceRules(NamedTuple):
    exclusions: Exclusions
    names: SourceNames


SHIPPED_RULES = SourceRules(SHIPPED, SHIPPED_ALONE)
