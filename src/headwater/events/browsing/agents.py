"""Read User-Agent headers: device, browser, operating system, and self-declared bots."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec
import ua_parser
from crawlerdetect import CrawlerDetect  # pyright: ignore[reportMissingTypeStubs]

MAX_HEADER_LENGTH = 256
"""Characters to parse, which suffice for the patterns."""
_LONG_WORD = re.compile(r"[\w-]{65}")
"""Longer than any real word; the libraries' patterns are slow on it."""

# The first match wins, so a browser that names another one too comes before it.
_DEVICES = tuple(
    (device, re.compile(pattern))
    for device, pattern in (
        ("console", r"PlayStation|Xbox|Nintendo"),
        ("tv", r"\b(?:Apple ?|Google ?|S(?:mart|MART)-?)?TV\b|HbbTV|NetCast|Web0S|BRAVIA"),
        ("tv", r"SmartTV|Roku|CrKey|_STB_|\bAFT[A-Z]"),
        ("wearable", r"\b(?:Pixel |Galaxy |Apple)?Watch\b|\bSM-R\d{3}"),
        # Apps such as Instagram append "Android" to the browser's own words.
        ("tablet", r"iPad|Tablet|PlayBook|Kindle|Silk/(?!.*Mobile)|\A(?!.*Mobile).*Android"),
        ("mobile", r"Mobi|iPhone|iPod|Android|Windows Phone|Opera Mini|BlackBerry"),
        ("desktop", r"Windows|Macintosh|X11|CrOS|Linux"),
    )
)
_HEADLESS = "HeadlessChrome/"

_crawlers = CrawlerDetect()


class Agent(msgspec.Struct, frozen=True):
    device_type: str
    browser: str | None
    os: str | None
    is_bot: bool
    """True for a self-declared crawler, link preview, monitor or program; not for a headless browser."""


@lru_cache(maxsize=8192)
def _parse(text: str) -> Agent:
    if _LONG_WORD.search(text):
        return Agent(device_type="other", browser=None, os=None, is_bot=False)
    text = text.replace(_HEADLESS, "Chrome/")
    parsed = ua_parser.parse(text)
    device = next((device for device, pattern in _DEVICES if pattern.search(text)), "other")
    return Agent(
        device_type=device,
        browser=parsed.user_agent.family if parsed.user_agent else None,
        os=parsed.os.family if parsed.os else None,
        is_bot=_crawlers.is_crawler(text),
    )


def read_agent(user_agent: str | None) -> Agent:
    return _parse((user_agent or "")[:MAX_HEADER_LENGTH])
