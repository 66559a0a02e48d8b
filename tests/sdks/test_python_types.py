"""The Python client and programs that use it, as strict type checkers read them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.sizes import ROOT

SOURCE = ROOT / "sdks" / "python" / "src"
PROGRAM = """
from datetime import UTC, datetime
from decimal import Decimal

from headwater_client import ApiError, AsyncClient, Client, EventBuffer, Rejection
from headwater_client.api import Company, ItemResult, TrackPayload

event: TrackPayload = {
    "event_name": "purchase", "email": "anna@example.com",
    "amount": Decimal("89.50"), "event_time": datetime.now(UTC),
}


def report(rejection: Rejection) -> None:
    print(rejection.event.get("order_id"), rejection.errors)


def send(client: Client) -> list[ItemResult]:
    with EventBuffer(client.with_options(timeout=5), on_rejection=report) as buffer:
        buffer.add(event)
    company: Company = client.get_company("5")
    try:
        client.update_company(company["id"], {"domain": "example.com"})
    except ApiError as error:
        print(error.errors)
    return client.track_many([event])


async def read(client: AsyncClient) -> str | None:
    async for step in client.iterate_contact_journey(5):
        print(step["type"])
    return (await client.get_company(5))["domain"]
"""
WRONG = """
from headwater_client import Client

Client("https://hw.example", "key").track({"event_name": "purchase", "amount": "much"})
"""


COMMANDS = {
    "mypy": ["mypy", "--strict", "--python-version", "3.11", ".", str(SOURCE / "headwater_client")],
    "pyright": ["pyright", "--pythonpath", sys.executable, "--project", "."],
}  # fmt: skip


@pytest.mark.parametrize("checker", COMMANDS)
def test_programs_are_checked(checker: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The wrong program has the only error. `make check` runs pyright on the package. mypy keeps its cache of
    the standard library for the next run.
    """
    assert request.config.cache is not None
    cache_folder = request.config.cache.mkdir("mypy")
    page = (SOURCE.parent / "README.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    for name, text in (("program", PROGRAM), ("readme", "".join(blocks)), ("wrong", WRONG)):
        (tmp_path / f"{name}.py").write_text(text)
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(SOURCE)], "pythonVersion": "3.11"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    result = subprocess.run(
        [sys.executable, "-m", *COMMANDS[checker]],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(SOURCE), "MYPY_CACHE_DIR": str(cache_folder)},
    )  # fmt: skip
    errors = re.findall(r"(\w+)\.py:(\d+).* error: ", result.stdout)
    assert set(errors) == {("wrong", "4")}, result.stdout + result.stderr
