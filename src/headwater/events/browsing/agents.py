"""Read User-Agent headers: device, browser, operating system, and bots that declare themselves."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec
import ua_parser
from crawlerdetect import CrawlerDetect  # pyright: ignore[reportMissingTypeStubs]

LONGEST_READ = 256
"""Characters of a header that are read: the patterns need no more, and anybody can send more."""
_LONG_WORD = re.compile(r"[\w-]{65}")
"""A word as long as no browser has one; the libraries' patterns are slow on it."""

# The first match counts, so browsers that also name another browser come before it.
_DEVICES = tuple(
    (device, re.compile(pattern))
    for device, pattern in (
        ("console", r"PlayStation|Xbox|Nintendo"),
        ("tv", r"\b(?:Apple ?|Google ?|S(?:mart|MART)-?)?TV\b|HbbTV|NetCast|Web0S|BRAVIA"),
        ("tv", r"SmartTV|Roku|CrKey|_STB_|\bAFT[A-Z]"),
        ("wearable", r"\b(?:Pixel |Galaxy |Apple)?Watch\b|\bSM-R\d{3}"),
        # Apps such as Instagram name Android once more after the browser's own words.
        ("tablet", r"iPad|Tablet|PlayBook|Kindle|Silk/(?!.*Mobile)|\A(?!.*Mobile).*Android"),
        ("mobile", r"Mobi|iPhone|iPod|Android|Windows Phone|Opera Mini|BlackBerry"),
        ("desktop", r"Windows|Macintosh|X11|CrOS|Linux"),
    )
)
_HEADLESS = "HeadlessChrome/"

_crawlers = CrawlerDetect()


class Agent(msgspec.Struct, frozen=True):
    """A user agent: the program that requests pages."""

    device_type: str
    """desktop, mobile, tablet, tv, console, wearable or other."""
    browser: str | None
    os: str | None
    is_bot: bool
    """True of a crawler, a link preview, a monitor or a program that declares itself. A browser
    without a window is no bot by itself: people use it for tests.
    """


@lru_cache(maxsize=8192)
def _read(text: str) -> Agent:
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
    """Read a header; an empty Agent when there is none."""
    return _read((user_agent or "")[:LONGEST_READ])
