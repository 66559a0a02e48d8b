"""List and search the source catalogue. Pure."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

from msgspec import Struct

from headwater.sources.catalogue import PAID_OTHER, SOURCES, find_channel
from headwater.sources.clicks import ADS, LINKS
from headwater.sources.links.links import LinkTags, choose_tags
from headwater.sources.titles import format_title
from headwater.sources.vocabulary import ALIASES, choose_source


class ListedSource(Struct, frozen=True):
    key: str
    title: str
    channel: str
    tags: LinkTags | None
    """Link parameters; None if links can't have this source."""
    aliases: tuple[str, ...]
    """utm_source values of the source, with a paid utm_medium if it is paid."""
    parameters: tuple[str, ...]
    """Parameters that its network adds to links."""

    @property
    def _text(self) -> str:
        words = (self.key, self.title, self.channel, *self.aliases, *self.parameters)
        return "\n".join(words).lower()

    def matches(self, text: str) -> bool:
        return all(word in self._text for word in text.lower().split())


def search_sources(text: str) -> list[ListedSource]:
    return [source for source in list_sources() if source.matches(text)]


@cache
def list_sources() -> tuple[ListedSource, ...]:
    aliases: dict[str, list[str]] = defaultdict(list)
    for alias, target in ALIASES.items():
        sources = {choose_source(target, paid=True), choose_source(target, paid=False)}
        for source in sources - {PAID_OTHER}:
            aliases[source].append(alias)
    parameters: dict[str, list[str]] = defaultdict(list)
    for table, paid in ((ADS, True), (LINKS, False)):
        for parameter, network in table.items():
            parameters[choose_source(network, paid=paid)].append(parameter)
    return tuple(
        ListedSource(
            key,
            format_title(key),
            format_title(find_channel(key)),
            choose_tags(key),
            tuple(sorted(aliases[key])),
            tuple(parameters[key]),
        )
        for key in SOURCES
    )
