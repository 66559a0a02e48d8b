"""What a Space's filters and ledger accept as sources, channels and platforms, and how others are
refused: with the nearest ones.
"""

from __future__ import annotations

from functools import lru_cache

from headwater.http.fields import Schema
from headwater.http.suggestions import Names
from headwater.sources.catalogue import CHANNELS, SOURCES
from headwater.sources.source_names import SourceNames
from headwater.sources.vocabulary import of_platform, target_of

_UNPAID = "|".join(source for source in SOURCES if not source.endswith("_ads"))
SOURCE: Schema = {"type": "string", "pattern": f"^({_UNPAID}|[a-z0-9_]+_ads)$"}
"""The schema of a source: every paid one ends in `_ads`, and a Space may have added some."""
_CHANNELS = Names(CHANNELS)
_HOW_TO_ADD = (
    "Add other platforms as paid networks of your own: on the page Sources, by PUT "
    "/sources/networks or by headwater network put."
)


def refuse_source(word: str, sources: SourceNames) -> str | None:
    """Return the rule that a word breaks which is no source of a Space; None for one that is."""
    if word in sources.sources:
        return None
    names = _names(sources.sources)
    return names.refusal(word, _meant(word) or names.nearest(word))


def refuse_channel(word: str) -> str | None:
    """The same for channels."""
    return None if word in CHANNELS else _CHANNELS.refusal(word, _CHANNELS.nearest(word))


def refuse_platform(platform: str, sources: SourceNames) -> str | None:
    """The same for platforms of spend, and how to add one."""
    if platform in sources.platforms:
        return None
    names = _names(tuple(sorted(sources.platforms)))
    return f"{names.refusal(platform, names.nearest(platform))} {_HOW_TO_ADD}"


@lru_cache(maxsize=64)
def _names(words: tuple[str, ...]) -> Names:
    return Names(words)


def _meant(word: str) -> tuple[str, ...]:
    """Return the sources that another name stands for, such as `meta`."""
    target = target_of(word)
    if target is None:
        return ()
    return tuple(dict.fromkeys(of_platform(target, paid=paid) for paid in (True, False)))
