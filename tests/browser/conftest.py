"""Chromium, driven by Playwright. Without one the tests are skipped and say so, unless
HEADWATER_TEST_BROWSER=required.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A running Chromium."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        if os.environ.get("HEADWATER_TEST_BROWSER") == "required":
            pytest.fail("HEADWATER_TEST_BROWSER=required, and no chromium on the path")
        pytest.skip("no chromium on the path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def page_of(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Opens pages, each in a context of its own made with the given options."""
    contexts: list[Any] = []

    def open_page(**options: Any) -> Page:
        context = chromium.new_context(**options)
        contexts.append(context)
        return context.new_page()

    yield open_page
    for context in contexts:
        context.close()
