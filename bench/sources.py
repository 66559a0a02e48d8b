"""Classification of visits, without caches: pure Python on one core."""

from __future__ import annotations

import time
from collections.abc import Callable

from headwater.sources.classify import classify, explain
from headwater.sources.evidence import Landing

VISITS = 60_000
PAGE = "https://shop.example/shoes"
KINDS = {
    "ad with click id": (f"{PAGE}?gclid=abc&gad_campaignid=123", "https://www.google.com/"),
    "tagged ad": (f"{PAGE}?utm_source=fb&utm_medium=cpc&utm_campaign=Spring&fbclid=x", None),
    "search": (PAGE, "https://www.google.co.uk/"),
    "social": (PAGE, "https://l.instagram.com/"),
    "assistant": (f"{PAGE}?utm_source=chatgpt.com", None),
    "other site": (PAGE, "https://blog.example/post"),
    "direct": (PAGE, None),
}


def measure(print_line: Callable[..., None]) -> None:
    """Print the part of the table on sources."""
    print_line("Classification, visits/s on one core")
    print_line("visit", "classify", "explain")
    for name, (url, referrer) in KINDS.items():
        # Every visit differs, so that no cache of URLs helps.
        visits = [Landing(f"{url}#{number}", referrer) for number in range(VISITS)]
        print_line(name, *(f"{_rate(verb, visits):,.0f}" for verb in (classify, explain)))


def _rate(verb: Callable[[Landing], object], visits: list[Landing]) -> float:
    start = time.perf_counter()
    for visit in visits:
        verb(visit)
    return len(visits) / (time.perf_counter() - start)
