"""The documentation site in a real browser, loaded from files: axe, narrow screens, and the search."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.sync_api import Page

from tests.browser.test_accessibility import check_widths
from tests.conformance.node import Node
from tests.documentation.conftest import site_folder as site_folder  # noqa: PLC0414 # a fixture

SOME = ("index.html", "tutorial.html", "glossary.html", "attribution.html", "decisions/reports.html")
"""Pages of each kind; HEADWATER_DOCUMENTATION=all checks every page."""


def choose_pages(folder: Path) -> list[str]:
    if os.environ.get("HEADWATER_DOCUMENTATION") != "all":
        return list(SOME)
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))


def test_it_works(site_folder: Path, page: Page, node: Node) -> None:
    page.add_init_script(path=str(node.package("axe-core/axe.min.js")))
    for index, path in enumerate(choose_pages(site_folder)):
        page.goto((site_folder / path).as_uri())
        check_widths(page, path, index)


def test_the_search_is_there_on_every_page(site_folder: Path, page: Page) -> None:
    page.goto((site_folder / "decisions" / "reports.html").as_uri())
    page.get_by_label("Search", exact=True).fill("woocommerce plugin")
    page.locator("#results a").first.click()
    assert page.url.startswith((site_folder / "clients" / "woocommerce.html").as_uri())
    page.get_by_label("Search", exact=True).fill("qqqq")
    assert page.locator("#results").inner_text() == "Nothing has these words."
