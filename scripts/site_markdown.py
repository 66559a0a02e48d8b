"""One page of the documentation site: converts Markdown to HTML with anchors, links to other pages, links for
the first occurrence of glossary terms, and sections for the search. Pure.
"""

# ruff: noqa: INP001 # a script on its own

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

_OUTSIDE = re.compile(r"[a-z][a-z0-9+.-]*:")
_MARKS = re.compile(r"[^\w\- ]")


class BrokenLinkError(Exception):
    """A link to a file that is not in the repository."""


@dataclass
class Section:
    """The text under one heading, or the meaning of one glossary term."""

    anchor: str
    level: int
    """The heading's level. 0 for a glossary term."""
    heading: str
    text: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Place:
    """The page that contains the links."""

    path: str
    """The page's file, from the repository's root."""
    url: str
    urls: Mapping[str, str]
    """Every page's address on the site, by file."""
    exists: Callable[[str], bool]
    """Returns whether the repository has a file or folder."""

    def link(self, target: str) -> str | None:
        """Return the address on the site that a link leads to, or None for a file that is not a page. Raises
        BrokenLinkError.
        """
        if _OUTSIDE.match(target) or target.startswith("#"):
            return target
        path, hash_, anchor = target.partition("#")
        file = posixpath.normpath(posixpath.join(posixpath.dirname(self.path), path))
        if file in self.urls:
            return self.relative(self.urls[file]) + hash_ + anchor
        if not self.exists(file):
            raise BrokenLinkError(f"{self.path}: {target}")
        return None

    def picture(self, source: str) -> str:
        """Return the address on the site of a picture of docs/pictures."""
        return self.relative(f"pictures/{posixpath.basename(source)}")

    def relative(self, url: str) -> str:
        """Return an address of the site, relative to this page."""
        return posixpath.relpath(url, posixpath.dirname(self.url) or ".")


@dataclass(frozen=True)
class Rendered:
    """A page's HTML, and its sections in order."""

    html: str
    sections: list[Section]


def slug(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return _MARKS.sub("", heading.lower()).strip().replace(" ", "-")


def render(text: str, place: Place, terms: Sequence[str] = ()) -> Rendered:
    """Render a page. The first occurrence of each of `terms` links to its `term_anchor` in the glossary. The
    glossary itself (without terms) gets the anchors.
    """
    parser = MarkdownIt("commonmark").enable("table")
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", _table_close)
    parser.add_render_rule("fence", _code)
    parser.add_render_rule("code_block", _code)
    tokens = parser.parse(text)
    _unhead_empty_cells(tokens)
    page = _Page(place, list(terms))
    page.read(tokens)
    return Rendered(parser.renderer.render(tokens, parser.options, {}), page.sections)


def term_anchor(term: str) -> str:
    """Return the anchor of a glossary term."""
    return f"term-{slug(term)}"


class _Page:
    def __init__(self, place: Place, terms: list[str]) -> None:
        self._place = place
        self._terms = terms
        self._anchors: dict[str, int] = {}
        self.sections: list[Section] = []

    def read(self, tokens: list[Token]) -> None:
        """Record the sections of a page, and change its tokens."""
        open_types: list[str] = []
        for before, token in zip([None, *tokens], tokens, strict=False):
            if token.nesting == 1:
                open_types.append(token.type)
            elif token.nesting == -1:
                open_types.pop()
            if token.type == "inline":
                self._inline(token, before, open_types)
            elif token.type == "fence" and self.sections:
                self.sections[-1].text.append(token.content)

    def _inline(self, token: Token, previous_token: Token | None, ancestors: list[str]) -> None:
        children = token.children or []
        is_glossary = self._place.path == "docs/glossary.md"
        if is_glossary and previous_token is not None and previous_token.type == "td_open":
            self._mark_term(children)
        words = "".join(_words(child) for child in children)
        if previous_token is not None and previous_token.type == "heading_open":
            anchor = self._anchor(words)
            previous_token.attrSet("id", anchor)
            self.sections.append(Section(anchor, int(previous_token.tag[1:]), words))
            children.append(_raw_token(_permalink(anchor, words)))
        elif self.sections:
            self.sections[-1].text.append(words)
        self._link(children)
        if not is_glossary and "heading_open" not in ancestors:
            token.children = self._with_terms(children)

    def _mark_term(self, children: list[Token]) -> None:
        for index, child in enumerate(children):
            if child.type == "strong_open" and index + 1 < len(children):
                term = children[index + 1].content
                child.attrSet("id", term_anchor(term))
                self.sections.append(Section(term_anchor(term), 0, term))

    def _anchor(self, text: str) -> str:
        anchor = slug(text)
        count = self._anchors.get(anchor, 0)
        self._anchors[anchor] = count + 1
        return f"{anchor}-{count}" if count else anchor

    def _link(self, children: list[Token]) -> None:
        dropped_links = 0
        for child in children:
            if child.type == "image":
                child.attrSet("src", self._place.picture(str(child.attrGet("src"))))
            elif child.type == "link_open":
                href = self._place.link(str(child.attrGet("href")))
                if href is None:  # a file that is not on the site
                    child.type, child.hidden, dropped_links = "text", True, dropped_links + 1
                else:
                    child.attrSet("href", href)
            elif child.type == "link_close" and dropped_links:
                child.type, child.hidden, dropped_links = "text", True, dropped_links - 1

    def _with_terms(self, children: list[Token]) -> list[Token]:
        """Return the words of a paragraph, with links for the glossary terms that occur first in it."""
        linked_children: list[Token] = []
        depth = 0
        for child in children:
            depth += child.nesting
            plain = child.type == "text" and not child.hidden and depth == 0
            linked_children += self._split(child) if plain else [child]
        return linked_children

    def _split(self, token: Token) -> list[Token]:
        lowercase_text = token.content.lower()
        for term in self._terms:
            if term.lower() not in lowercase_text:  # most are not, and this costs less than the search
                continue
            match = re.search(rf"\b{re.escape(term)}\b", token.content, re.IGNORECASE)
            if match is None:
                continue
            self._terms.remove(term)
            begin, end = (_text(token.content[: match.start()]), _text(token.content[match.end() :]))
            href = f"{self._place.relative('glossary.html')}#{term_anchor(term)}"
            link = _raw_token(f'<a class="term" href="{href}">{html.escape(match[0])}</a>')
            return [*self._split(begin), link, *self._split(end)]
        return [token]


def _unhead_empty_cells(tokens: list[Token]) -> None:
    """Turn empty header cells of a table into plain ones, because they head nothing."""
    for index, token in enumerate(tokens):
        if token.type == "th_open" and not tokens[index + 1].content.strip():
            token.tag = tokens[index + 2].tag = "td"


def _words(token: Token) -> str:
    if token.type in {"text", "code_inline"}:
        return token.content
    return " " if token.type in {"softbreak", "hardbreak"} else ""


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _raw_token(content: str) -> Token:
    return Token("html_inline", "", 0, content=content)


def _permalink(anchor: str, text: str) -> str:
    label = html.escape(f"Link to “{text}”")
    return f'<a class="anchor" href="#{anchor}" aria-label="{label}">#</a>'


def _table_open(*_: Any) -> str:
    return '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>\n'


def _table_close(*_: Any) -> str:
    return "</table></div>\n"


def _code(_: Any, tokens: Sequence[Token], index: int, *__: Any) -> str:
    return f'<pre tabindex="0"><code>{html.escape(tokens[index].content)}</code></pre>\n'
