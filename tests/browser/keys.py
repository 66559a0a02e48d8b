"""Moves through a page by keyboard alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page

NOTHING_HAS_FOCUS = "() => document.activeElement === document.body"
SKIPS = "() => document.activeElement.classList.contains('skip')"
MOST_TABS = 200


def reach(page: Page, element: Locator) -> None:
    """Move the focus to an element by Tab alone. Enter the content of a page by its skip link. This also
    shows that no element on the way traps the focus.
    """
    target = element.element_handle()
    if page.evaluate(NOTHING_HAS_FOCUS) and target.evaluate("(one) => !!one.closest('main')"):
        page.keyboard.press("Tab")
        if page.evaluate(SKIPS):
            page.keyboard.press("Enter")
    for _ in range(MOST_TABS):
        if target.evaluate("(one) => one === document.activeElement"):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"Tab does not lead to {element}")
