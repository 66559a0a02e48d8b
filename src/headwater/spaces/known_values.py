"""The sources, channels and platforms that a Space's filters and ledger accept. Errors suggest the nearest
ones.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated

from msgspec import Meta

from headwater.http.inputs.fields import Schema
from headwater.http.inputs.suggestions import Names
from headwater.sources.ad_platforms import PLATFORM_ALIASES
from headwater.sources.catalogue import CHANNELS, LISTED_SOURCES, SOURCES
from headwater.sources.source_names import SourceNames
from headwater.sources.vocabulary import choose_source, find_target


def _build_schema(sources: tuple[str, ...]) -> Schema:
    """Return the schema of listed sources and of networks that Spaces may add, which end in `_ads`."""
    other_sources = "|".join(source for source in sources if not source.endswith("_ads"))
    return {"type": "string", "pattern": f"^({other_sources}|[a-z0-9_]+_ads)$"}


SOURCE, REPORT_SOURCE = _build_schema(LISTED_SOURCES), _build_schema(SOURCES)
ListedSource = Annotated[str, Meta(pattern=SOURCE["pattern"])]
"""A source in answers about events and contacts."""
_CHANNELS = Names(CHANNELS)
_ALIASES = Names(PLATFORM_ALIASES)
_HOW_TO_ADD = (
    "Add other platforms as paid networks of your own: on the page Sources and naming, by PUT "
    "/sources/networks or by headwater network put."
)


def refuse_source(word: str, sources: tuple[str, ...]) -> str | None:
    if word in sources:
        return None
    names = _names(sources)
    suggestions = tuple(source for source in _meant(word) if source in sources)
    return names.refusal(word, suggestions or names.nearest(word))


def refuse_channel(word: str) -> str | None:
    return None if word in CHANNELS else _CHANNELS.refusal(word, _CHANNELS.nearest(word))


def refuse_platform(platform: str, sources: SourceNames) -> str | None:
    """Return the rule that an unknown platform of spend breaks, and how to add it."""
    if platform in sources.platforms:
        return None
    names = _names(tuple(sorted(sources.platforms)))
    meant = tuple(dict.fromkeys(PLATFORM_ALIASES[alias] for alias in _ALIASES.near(platform)))
    suggestions = names.near(platform) or meant or names.nearest(platform)
    return f"{names.refusal(platform, suggestions)} {_HOW_TO_ADD}"


@lru_cache(maxsize=64)
def _names(words: tuple[str, ...]) -> Names:
    return Names(words)


def _meant(word: str) -> tuple[str, ...]:
    target = find_target(word)
    if target is None:
        return ()
    return tuple(dict.fromkeys(choose_source(target, paid=paid) for paid in (True, False)))
