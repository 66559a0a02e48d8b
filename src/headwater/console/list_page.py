"""Paged, searchable lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar
from urllib.parse import urlencode

from msgspec import Struct
from starlette.requests import Request

T = TypeVar("T")

PER_PAGE = 50
PAGE = "page"
_MOST_DIGITS = 6
_LONGEST = 200


class ListPage(Struct, Generic[T], frozen=True):
    rows: Sequence[T]
    total: int
    number: int
    search: str
    wanted: str

    @property
    def is_last(self) -> bool:
        return PER_PAGE * self.number >= self.total

    @property
    def is_long(self) -> bool:
        """Return whether the list needs a search field."""
        return self.total > PER_PAGE or bool(self.wanted)

    def end(self, number: int) -> str:
        """Return the end of a page's address: empty for the first page of the whole list."""
        pairs = {self.search: self.wanted, PAGE: str(number) if number > 1 else ""}
        query = urlencode({name: text for name, text in pairs.items() if text})
        return f"?{query}" if query else ""


def read_list_page(
    request: Request, rows: Iterable[T], words: Callable[[T], str], search: str = "find"
) -> ListPage[T]:
    """Return the nearest existing page. `words` returns a row's searchable text; case is ignored."""
    phrase = request.query_params.get(search, "").strip()[:_LONGEST]
    matching = [row for row in rows if phrase.lower() in words(row).lower()]
    text = request.query_params.get(PAGE, "")
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 1
    number = min(max(number, 1), max(1, -(-len(matching) // PER_PAGE)))
    first = PER_PAGE * (number - 1)
    return ListPage(matching[first : first + PER_PAGE], len(matching), number, search, phrase)
