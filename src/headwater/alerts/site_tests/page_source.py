"""The tracker in a page's HTML. Pure, and linear in the page's length because pages are untrusted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape

from msgspec import Struct

KEY_PREFIX = "trk_pk_"
LONGEST_VALUE = 2048
MOST_ATTRIBUTES = 60
MOST_SCRIPTS = 400
MOST_KEYS = 5

_TAG = re.compile(r"<(!--|(?:script|meta|style|title|textarea|noscript|template)(?=[\s/>]))", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""[\s/]*+([^\s/>=]++)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s>"']*+))?""")
_SPACE = re.compile(r"[\s/]*+")
_END = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in ("script", "style", "title", "textarea", "noscript", "template")
}
_KEY = re.compile(rf"(?<![A-Za-z0-9_-]){KEY_PREFIX}[A-Za-z0-9_-]{{8,64}}")
_TAG_MANAGER = re.compile(r"googletagmanager\.com/gtm\.js|\bGTM-[A-Z0-9]{4,12}\b")


class ScriptTag(Struct, frozen=True):
    source: str
    site: str
    needs_consent: bool
    nonce: str


@dataclass
class PageSource:
    scripts: list[ScriptTag] = field(default_factory=list[ScriptTag])
    policies: list[str] = field(default_factory=list[str])
    keys: list[str] = field(default_factory=list[str])
    has_tag_manager: bool = False


def read_page(html: str) -> PageSource:
    """Accept any text."""
    page = PageSource()
    for name, attributes in _tags(html):
        if name == "script" and attributes.get("src"):
            page.scripts.append(
                ScriptTag(
                    source=attributes["src"].strip(),
                    site=attributes.get("data-site", "").strip(),
                    needs_consent=attributes.get("data-consent", "") in ("required", "managed"),
                    nonce=attributes.get("nonce", ""),
                )
            )
        elif name == "meta" and _is_policy(attributes):
            page.policies.append(attributes.get("content", ""))
    page.keys = list(dict.fromkeys(match[0] for match in _KEY.finditer(html)))[:MOST_KEYS]
    page.has_tag_manager = _TAG_MANAGER.search(html) is not None
    return page


def _is_policy(attributes: dict[str, str]) -> bool:
    return attributes.get("http-equiv", "").lower() == "content-security-policy"


def _tags(html: str) -> Iterator[tuple[str, dict[str, str]]]:
    position = scripts = 0
    while (match := _TAG.search(html, position)) is not None and scripts < MOST_SCRIPTS:
        name = match[1].lower()
        if name == "!--":
            end = html.find("-->", match.end())
            if end < 0:
                return
            position = end + 3
            continue
        attributes, position = _attributes(html, match.end())
        if name in ("script", "meta"):
            scripts += 1
            yield name, attributes
        if name in _END:
            closing = _END[name].search(html, position)
            if closing is None:
                return
            position = closing.end()


def _attributes(html: str, position: int) -> tuple[dict[str, str], int]:
    """Return the first value of each name, and the tag's end."""
    attributes: dict[str, str] = {}
    for _ in range(MOST_ATTRIBUTES):
        match = _ATTRIBUTE.match(html, position)
        if match is None:
            break
        position = match.end()
        value = (match[2] or "")[: LONGEST_VALUE + 2]
        is_quoted = value[:1] in ('"', "'")
        plain = unescape(value.strip(value[:1]) if is_quoted else value)
        attributes.setdefault(match[1][:LONGEST_VALUE].lower(), plain[:LONGEST_VALUE])
    space = _SPACE.match(html, position)
    position = space.end() if space else position
    end = html.find(">", position)
    return attributes, len(html) if end < 0 else end + 1
