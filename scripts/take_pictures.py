"""Take the documentation's pictures anew: `python -m scripts.take_pictures`, with Chromium.

They show the sample Space of `headwater demo`, whose journeys are the same but for the date.
"""

# ruff: noqa: INP001 # a script on its own

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, sync_playwright

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
PORT = "8971"
REPORTS = {"Compare models": "models", "Campaigns": "campaigns", "Cohorts": "cohorts"}
"""Pages by their names in the menu, and the pictures of them."""
TOUCHES = 3
"""What the path of the event in the picture has at least."""
SIZE: ViewportSize = {"width": 1280, "height": 1200}


def take(page: Page, base_url: str, email: str, password: str) -> None:
    """Log in, and take each picture."""
    page.goto(f"{base_url}/console")
    page.fill("input[name=email]", email)
    page.fill("input[name=password]", password)
    page.click("main button")
    page.get_by_role("link", name=re.compile("Nordlicht")).first.click()
    _shoot(page, "revenue")
    for menu, name in REPORTS.items():
        page.get_by_role("link", name=menu, exact=True).first.click()
        if name == "cohorts":  # the sample has half a year
            page.goto(f"{page.url}?period=last+6+months")
        _shoot(page, name)
    page.get_by_role("link", name="Events", exact=True).first.click()
    events = [link.get_attribute("href") or "" for link in page.locator("main tbody a").all()]
    for event in dict.fromkeys(link for link in events if "/events/" in link):
        page.goto(f"{base_url}{event}")
        if page.locator("ol.path > li").count() >= TOUCHES:
            break
    _shoot(page, "event")


def _shoot(page: Page, name: str) -> None:
    page.wait_for_load_state("networkidle")
    page.screenshot(path=PICTURES / f"{name}.png", animations="disabled")


def main() -> None:
    """Start the demonstration on a new data directory, and end it when all are taken."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(sys.executable).with_name("headwater")
        command = [str(program), "demo", "--port", PORT, "--data-dir", folder]
        demo = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert demo.stdout is not None
            told: dict[str, str] = {}
            for line in demo.stdout:
                name, _, value = line.strip().partition(" ")
                told[name] = value.strip()
                if line.startswith("It goes on serving"):
                    break
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"),
                    args=["--no-sandbox"],
                )
                page = browser.new_page(viewport=SIZE, reduced_motion="reduce")
                take(page, told["Address"], told["Login"], told["Password"])
                browser.close()
        finally:
            demo.terminate()
            demo.wait()


if __name__ == "__main__":
    main()
