"""Every command and code block in the documentation is run, by this file or by the file that a table names.
Exceptions have their reason there.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.conftest import Running
from tests.documentation.snippets import (
    ELSEWHERE,
    NOT_RUN,
    NOTHING_TO_RUN,
    QUERIED,
    Block,
    has_reason,
    is_run,
    read_blocks,
)
from tests.mcp.assistants import HEADERS, connect
from tests.support.factories import Stage
from tests.support.processes import environment
from tests.support.sizes import ROOT
from tests.support.waiting import PATIENCE_SECONDS

BLOCKS = read_blocks()
SHELL = [block for block in BLOCKS if block.is_shell and any(map(is_run, block.lines))]
SPEND = "Day,Campaign,Cost,Currency code\n2026-05-13,Boots,12.50,EUR\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder for commands, with the files that pages mention."""
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    shutil.copytree(ROOT / "integrations", tmp_path / "integrations")
    body = next(block for block in BLOCKS if block.is_listed_in({("docs/webhooks.md", "{"): ""}))
    (tmp_path / "body.json").write_text(body.text)
    for name in ("token.txt", "secret.txt"):
        (tmp_path / name).write_text("token\n")
    (tmp_path / "google.csv").write_text(SPEND)
    for name, table in QUERIED.items():
        (tmp_path / name).write_text(table)
    return tmp_path


def adapt(line: str, stage: Stage, base_url: str) -> str:
    """Return a line as a reader would type it: with their own Space, address and key."""
    line = re.sub(r"--(space |role )1\b", rf"--\g<1>{stage.space_id}", line)
    line = re.sub(r"trk_sk_…|YOUR_KEY", stage.key, line.replace("http://127.0.0.1:8080", base_url))
    if line.startswith("curl"):
        line = line.replace("curl ", "curl --fail-with-body --silent --show-error ", 1)
    return line


@pytest.mark.parametrize("block", SHELL, ids=lambda block: f"{block.page}:{block.text[:40]}")
def test_what_is_typed_in_works(
    block: Block, stage: Stage, server: Running, database_url: str, folder: Path
) -> None:
    lines = [adapt(line, stage, server.base_url) for line in block.lines if is_run(line)]
    script = "set -euo pipefail\n" + "\n".join(lines)
    if "curl" in script and shutil.which("curl") is None:
        pytest.skip("no curl found")
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    result = subprocess.run(
        ["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False,
        timeout=PATIENCE_SECONDS, stdin=subprocess.DEVNULL,
        env=environment(
            HEADWATER_DATABASE_URL=database_url, HEADWATER_DATA_DIR=str(server.data_dir), PATH=path
        ),
    )  # fmt: skip
    assert result.returncode == 0, script + "\n" + result.stdout + result.stderr


def test_every_block_is_run_or_has_its_reason() -> None:
    for block in BLOCKS:
        assert not (block.is_listed_in(ELSEWHERE) and block.is_listed_in(NOTHING_TO_RUN)) or (
            block.page == "docs/tracker.md"
        ), block
        lines = block.lines if block.is_shell else []
        assert [line for line in lines if not (is_run(line) or has_reason(line))] == []


def test_no_reason_is_left_over() -> None:
    for table in (ELSEWHERE, NOTHING_TO_RUN):
        for key in table:
            assert any(block.is_listed_in({key: ""}) for block in BLOCKS), key
    lines = [line for block in BLOCKS if block.is_shell for line in block.lines]
    for pattern in NOT_RUN:
        assert any(re.match(pattern, line) for line in lines), pattern
    for test_path in ELSEWHERE.values():
        assert (ROOT / test_path).exists()


def find_snippet(page: str, start: str) -> str:
    return next(block.text for block in BLOCKS if block.is_listed_in({(page, start): ""}))


def test_an_assistant_by_the_protocol_s_own_client(
    server: Running, connection: psycopg.Connection, stage: Stage
) -> None:
    """It sends the service's name, which differs from the address of the tests' server."""
    code = find_snippet("docs/assistants.md", "import httpx2").replace("headers = {", "headers = HOST | {")
    space: dict[str, Any] = {"HOST": {"Host": HEADERS["Host"]}}
    body = textwrap.indent(code, "    ")
    exec(f"async def ask(token, url):\n{body}\n    return answer", space)
    with connect(server, connection, stage.space_id) as assistant:
        answer = asyncio.run(space["ask"](assistant.token, assistant.url))
    assert not answer.is_error


def test_a_signature_in_php() -> None:
    php = shutil.which("php")
    if php is None:
        pytest.skip("no php found")
    # Debian has it in a separate package. Shops have it.
    lower = (
        "<?php if (!function_exists('mb_strtolower')) {"
        " function mb_strtolower($text) { return strtolower($text); } } ?>"
    )
    call = "echo sign_identity('s', 1790000000, ' A@B.example ', '7');"
    code = lower + find_snippet("docs/tracker.md", "<?php") + call
    python: dict[str, Any] = {}
    exec(find_snippet("docs/tracker.md", "import hashlib"), python)
    result = subprocess.run([php], input=code, capture_output=True, text=True, check=True)
    assert result.stdout == python["sign_identity"]("s", 1790000000, " A@B.example ", "7")


def test_what_an_operator_asks_the_database(connection: psycopg.Connection) -> None:
    for statement in find_snippet("docs/privacy.md", "SELECT ").split(";"):
        if statement.strip():
            connection.execute(statement.strip())  # type: ignore[arg-type]
