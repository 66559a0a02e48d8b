"""Logs have one JSON object per line, and no private data."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from headwater.base.logs import MASKED, mask

CANARIES = (
    "trk_sk_c4n4ryc4n4ryc4n4ryc4n4ryc4n4ryc4n4ryc4n4ry0", "hunter2", "canary@example.com",
    "canary%40example.com", "203.0.113.77", "2001:db8::77", "c4n4ry-token", "c4n4rycookie",
)  # fmt: skip

PROGRAM = """
import logging, sys, warnings
import psycopg, structlog
from headwater.base import logs
logs.configure("info")
log = structlog.get_logger()
key, password, email, quoted, v4, v6, token, cookie = sys.argv[1:]
headers = {"Cookie": cookie, "x": [f"Bearer {token}"]}
log.info("said", authorization=f"Bearer {key}", headers=headers)
log.info(f"url postgresql://headwater:{password}@/headwater?host=x and {email} from {v4}")
log.warning("plain", error=f"password={password} trk_token={token}&email={quoted}")
log.info("bytes", body=f"Authorization: Basic {token}".encode(), peer=(v6, 443), ip=v4)
logging.getLogger("uvicorn.error").error("peer %s sent %s", v6, email)
logging.getLogger("third.party").warning("api_key: %s", token, extra={"secret": password})
log.debug("hidden", password=password)
warnings.warn(f"about {email}")
try:
    raise psycopg.errors.UniqueViolation(
        f"duplicate key\\nDETAIL:  Key (space_id, value)=(1, {token}) already exists.")
except psycopg.Error:
    log.exception("failed", forged="a\\r\\n{\\"event\\": \\"forged\\"}\\x1b[2J\\u2028")
raise RuntimeError(f"{email} {key}")
"""


def test_it_works() -> None:
    """Canaries are logged in every possible way. None appears, and every line is one JSON object."""
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, *CANARIES], capture_output=True, text=True, check=False
    )
    lines = [json.loads(line) for line in process.stderr.splitlines()]
    assert [line["level"] for line in lines] == [
        "info", "info", "warning", "info", "error", "warning", "warning", "error", "critical",
    ]  # fmt: skip
    assert not [canary for canary in CANARIES if canary in process.stderr]
    assert "\x1b" not in process.stderr
    assert lines[0]["event"] == "said"
    assert "forged" in lines[7]["forged"]
    assert "UniqueViolation" in lines[7]["exception"]
    assert "Key (space_id, value)" in lines[7]["exception"]
    assert all("timestamp" in line for line in lines)


@pytest.mark.parametrize(
    "harmless",
    [
        "2026-11-21T14:53:33.123Z", "14:53:33", "headwater 0.1.0", "slice[1:2:3]",
        "GET /public-api/v1/events 200", "space_id=7", "10.5 ms", "trk_source=google_ads",
        "trk_ad_id", 'File "x.py", line 3', "3:00", "ab:cd",
    ],
)  # fmt: skip
def test_harmless_text_stays(harmless: str) -> None:
    assert mask(harmless) == harmless


@pytest.mark.parametrize(
    "text", ["a" * 65536, "@" * 65536, "a@" * 32768, "1." * 32768, ":" * 65536, "token" * 13000,
             "://" * 20000, "Key (" * 13000, "bearer " * 9000, "password=" * 7000, "-" * 65536]
)  # fmt: skip
def test_hostile_text_takes_no_time(text: str) -> None:
    started = time.perf_counter()
    mask(text)
    assert time.perf_counter() - started < 5  # quadratic time would take minutes


def test_names_are_masked_whatever_the_case() -> None:
    assert mask("X-API-Key: abc") == f"X-API-Key: {MASKED}"
    assert mask('{"Password": "a b"}') == f'{{"Password": {MASKED}}}'
