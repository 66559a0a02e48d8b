"""Take the documentation's screenshots: `make pictures`, with Chromium.

They show the sample Space of `headwater demo`, whose journeys are always the same except for the date.
"""

# ruff: noqa: INP001 # a script on its own

from __future__ import annotations

import base64
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, ViewportSize, sync_playwright

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
SIZE: ViewportSize = {"width": 1440, "height": 900}
COLOURS = 256
MAX_BYTES = 120_000
"""The limit for one picture: every clone of the repository and the README's first page load them."""
PAGES = {
    "overview": "", "channels": "/channels", "models": "/models", "ads": "/campaigns",
    "customers": "/cohorts?period=last+6+months", "orders": "/events", "connections": "/setup",
    "alerts": "/alerts", "settings": "/settings",
}  # fmt: skip
"""Pictures and the paths of their pages: the sidebar's eight entries, and the comparison of models."""
TOUCHES = 3
"""The least touchpoints of the event in the picture."""
DECODE = """async (picture) => {
    const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${picture}`)).blob());
    const drawing = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    drawing.drawImage(bitmap, 0, 0);
    const { data } = drawing.getImageData(0, 0, bitmap.width, bitmap.height);
    const reader = new FileReader();
    reader.readAsDataURL(new Blob([data]));
    await new Promise((done) => { reader.onload = done; });
    return reader.result.split(",")[1];
}"""


def take(page: Page, base_url: str, email: str, password: str) -> None:
    """Log in, and take each picture."""
    page.goto(f"{base_url}/console")
    page.fill("input[name=email]", email)
    page.fill("input[name=password]", password)
    page.click("main button")
    page.get_by_role("link", name=re.compile("Nordlicht")).first.click()
    page.wait_for_url(re.compile(r"/spaces/\d+"))
    space = re.findall(r".*/spaces/\d+", page.url)[0]
    for name, end in PAGES.items():
        page.goto(f"{space}{end}")
        shoot(page, name)
    page.goto(f"{space}/events")
    events = [link.get_attribute("href") or "" for link in page.locator("main tbody a").all()]
    for event in dict.fromkeys(link for link in events if "/events/" in link):
        page.goto(f"{base_url}{event}")
        if page.locator("ol.path > li").count() >= TOUCHES:
            break
    shoot(page, "event")


def shoot(page: Page, name: str) -> None:
    """Write the picture of the open page."""
    page.wait_for_load_state("networkidle")
    picture = page.screenshot(animations="disabled")
    blank = page.context.new_page()
    rgba = base64.b64decode(blank.evaluate(DECODE, base64.b64encode(picture).decode()))
    blank.close()
    pixels = np.frombuffer(rgba, np.uint8).reshape(SIZE["height"], SIZE["width"], 4)
    png = encode_png(pixels[:, :, :3])
    if len(png) > MAX_BYTES:
        sys.exit(f"{name}.png has {len(png):,} bytes, more than {MAX_BYTES:,}.")
    (PICTURES / f"{name}.png").write_bytes(png)


def encode_png(pixels: np.ndarray) -> bytes:
    """Return a PNG with the most frequent colours; other pixels take the nearest."""
    height, width, _ = pixels.shape
    colours, indexes, counts = np.unique(
        pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True
    )
    palette = colours[np.argsort(-counts, kind="stable")[:COLOURS]]
    apart = colours[:, None].astype(np.int32) - palette[None].astype(np.int32)
    nearest = (apart**2).sum(axis=2).argmin(axis=1).astype(np.uint8)
    rows = np.zeros((height, 1 + width), np.uint8)  # the filter type of each row: none
    rows[:, 1:] = nearest[indexes].reshape(height, width)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"PLTE", palette.tobytes()),
              (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))  # fmt: skip
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def main() -> None:
    """Start the demo with a temporary data directory, and stop it after the last picture."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(sys.executable).with_name("headwater")
        command = [str(program), "demo", "--port", str(port), "--data-dir", folder]
        demo = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert demo.stdout is not None
            printed_values: dict[str, str] = {}
            for line in demo.stdout:
                name, _, value = line.strip().partition(" ")
                printed_values[name] = value.strip()
                if line.startswith("It goes on serving"):
                    break
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"),
                    args=["--no-sandbox"],
                )
                page = browser.new_context(viewport=SIZE, reduced_motion="reduce").new_page()
                take(page, printed_values["Address"], printed_values["Login"], printed_values["Password"])
                browser.close()
        finally:
            demo.terminate()
            demo.wait()


if __name__ == "__main__":
    main()
