"""A walk through every page of the sample shop: each page, and every link on it, shows something or leads
further.
"""

from __future__ import annotations

import re
from html import unescape

import httpx

from tests.support.campaigns import IS_LONG

HOME = "/console/spaces/1"
NOT_PAGES = re.compile(r"\.csv|\.svg|/download|/logout|/export")
DEAD_ENDS = ("No report", "Nothing can be said")
WITH_MODELS = (
    "/models", "/channels?attribution_model=markov", "/models?models=markov&models=linear",
    "/cohorts?attribution_model=markov", "/campaigns?attribution_model=markov", "/trained-models",
)  # fmt: skip
MOST_FOR_A_SHAPE = 2
"""The most pages visited for one path and set of parameters, because a table's rows lead to similar pages."""
MOST_PAGES = 250 if IS_LONG else 80


class Walk:
    """Visits the pages that a page links to."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self.visited_paths: set[str] = set()
        self._shapes: dict[str, int] = {}
        self.faults: list[str] = []

    def walk(self, paths: list[str]) -> None:
        pending_addresses = [*paths]
        while pending_addresses and len(self.visited_paths) < MOST_PAGES:
            address = pending_addresses.pop(0)
            if address in self.visited_paths or not self._is_new_shape(address):
                continue
            self.visited_paths.add(address)
            pending_addresses += self._visit(address)

    def _is_new_shape(self, address: str) -> bool:
        path, _, query = address.partition("?")
        names = sorted({pair.partition("=")[0] for pair in query.split("&")})
        shape = re.sub(r"\d+", "N", path) + "?" + "&".join(names)
        self._shapes[shape] = self._shapes.get(shape, 0) + 1
        return self._shapes[shape] <= MOST_FOR_A_SHAPE

    def _visit(self, address: str) -> list[str]:
        page = self._client.get(address)
        content = page.text.partition("<main")[2]
        if page.status_code != 200:
            if ">Train it</a>" not in content:  # for conversions that don't train automatically
                self.faults.append(f"{address}: {page.status_code}")
            return []
        self.faults += [f"{address}: {words}" for words in DEAD_ENDS if words in unescape(content)]
        self.faults += [
            f"{address}: {card[:80]}"
            for card in re.findall(r'<section class="card center">(.*?)</section>', content, re.DOTALL)
            if "<a" not in card and "<form" not in card and "<button" not in card
        ]
        links = [
            unescape(link).partition("#")[0] for link in re.findall(r'<a [^>]*?href="([^"]+)"', page.text)
        ]
        return [link for link in links if link.startswith(HOME) and not NOT_PAGES.search(link)]
