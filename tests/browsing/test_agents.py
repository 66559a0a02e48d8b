"""Device, browser and bot detection from a User-Agent header."""

from __future__ import annotations

import time

import pytest

from headwater.events.browsing.agents import Agent, read_agent

WEBKIT = "AppleWebKit/605.1.15 (KHTML, like Gecko)"
MOBILE_SAFARI = "Version/17.4 Mobile/15E148 Safari/604.1"
BLINK = "AppleWebKit/537.36 (KHTML, like Gecko)"


def test_it_works() -> None:
    text = f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {BLINK} Chrome/140.0.0.0 Safari/537.36"
    assert read_agent(text) == Agent("desktop", "Chrome", "Windows", is_bot=False)


@pytest.mark.parametrize(
    ("text", "device", "browser", "system"),
    [
        (f"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) {WEBKIT} Version/17.4 Safari/605.1.15",
         "desktop", "Safari", "Mac OS X"),
        (f"Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) {WEBKIT} {MOBILE_SAFARI}",
         "mobile", "Mobile Safari", "iOS"),
        (f"Mozilla/5.0 (iPad; CPU OS 17_4 like Mac OS X) {WEBKIT} {MOBILE_SAFARI}",
         "tablet", "Mobile Safari", "iOS"),
        (f"Mozilla/5.0 (Linux; Android 10; K) {BLINK} Chrome/140.0.0.0 Mobile Safari/537.36",
         "mobile", "Chrome Mobile", "Android"),
        (f"Mozilla/5.0 (Linux; Android 13; SM-X700) {BLINK} Chrome/140.0.0.0 Safari/537.36",
         "tablet", "Chrome", "Android"),
        (f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {BLINK} Chrome/140 Safari/537.36 Edg/140.0",
         "desktop", "Edge", "Windows"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
         "desktop", "Firefox", "Linux"),
        (f"Mozilla/5.0 (SMART-TV; Linux; Tizen 6.0) {BLINK} Version/6.0 TV Safari/538.1",
         "tv", "Safari", "Tizen"),
        (f"Mozilla/5.0 (Linux; Android 9; AFTMM) {BLINK} Silk/120 like Chrome/120 Safari/537.36",
         "tv", "Android", "Android"),
        (f"Mozilla/5.0 (PlayStation 5 3.03/SmartTV) {WEBKIT}", "console", "Apple Mail", None),
        (f"Mozilla/5.0 (Linux; Android 11; Pixel Watch) {BLINK} Chrome/100", "wearable",
         "Android", "Android"),
        ((f"Mozilla/5.0 (Linux; Android 14; SM-S918B Build/UP1A; wv) {BLINK} Version/4.0"
         " Chrome/124.0.0.0 Mobile Safari/537.36 Instagram 330.0.0.40.92 Android (34/14; 450dpi;"
         " 1080x2106; samsung; SM-S918B; dm3q; qcom; de_DE; 595550226)"),
         "mobile", "Instagram", "Android"),
        ((f"Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/UD1A; wv) {BLINK} Version/4.0"
         " Chrome/124.0.0.0 Mobile Safari/537.36 Barcelona 329.0.0.41.93 Android (34/14; 420dpi;"
         " 1080x2274; Google; Pixel 8; shiba; shiba; en_US; 594000000)"),
         "mobile", "Chrome Mobile WebView", "Android"),
        ((f"Mozilla/5.0 (Linux; Android 13; SM-X700 Build/TP1A; wv) {BLINK} Version/4.0"
         " Chrome/124.0.0.0 Safari/537.36 Instagram 330.0.0.40.92 Android (33/13; 340dpi;"
         " 1600x2560; samsung; SM-X700; gts8wifi; qcom; de_DE; 595550226)"),
         "tablet", "Instagram", "Android"),
        ("", "other", None, None),
        ("something of one's own", "other", None, None),
    ],
)  # fmt: skip
def test_devices(text: str, device: str, browser: str | None, system: str | None) -> None:
    agent = read_agent(text)
    assert (agent.device_type, agent.browser, agent.os) == (device, browser, system)
    assert not agent.is_bot


@pytest.mark.parametrize(
    "text",
    [
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
        "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)",
        "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
        "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
        "Mozilla/5.0 (compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)",
        f"Mozilla/5.0 (X11; Linux x86_64) {BLINK} HeadlessChrome/140.0.0.0 Chrome-Lighthouse",
        "python-requests/2.31",
        "curl/8.0",
    ],
)
def test_who_owns_up_to_be_a_bot(text: str) -> None:
    assert read_agent(text).is_bot


def test_a_browser_without_a_window_is_a_browser() -> None:
    text = f"Mozilla/5.0 (X11; Linux x86_64) {BLINK} HeadlessChrome/140.0.0.0 Safari/537.36"
    assert read_agent(text) == Agent("desktop", "Chrome", "Linux", is_bot=False)


@pytest.mark.parametrize("text", [None, "é" * 600, "(" * 60_000, "Mobile " * 9000, "\0\n"])
def test_anything_can_be_read_in_little_time(text: str | None) -> None:
    start = time.thread_time()
    assert isinstance(read_agent(text), Agent)
    assert time.thread_time() - start < 5
