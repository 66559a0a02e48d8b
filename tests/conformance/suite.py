"""Run the protocol's public conformance suite against an MCP resource."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from headwater.base.settings import Settings
from tests.conformance.node import Node
from tests.conformance.proxy import Proxy, run_proxy
from tests.conftest import run_application
from tests.mcp.assistants import connect
from tests.support.spaces import insert_space

SUITE = "@modelcontextprotocol/conformance/dist/index.js"

_STAMP = re.compile(r"-[0-9]{4}-[0-9]{2}-[0-9]{2}T.*")


@dataclass(frozen=True)
class Outcome:
    """The result of a scenario: the ids of failed checks, and the number of passed ones."""

    failed_checks: tuple[str, ...]
    passed_count: int


@contextmanager
def run_exposed(database_url: str, data_dir: Path) -> Iterator[tuple[Proxy, str]]:
    """Run the application behind a proxy that adds a token, because the suite can't. Yield (the proxy, the
    address of a Space).
    """
    with run_proxy() as proxy, psycopg.connect(database_url, autocommit=True) as connection:
        settings = Settings(rate_limit_factor=1000, base_url=proxy.url, data_dir=data_dir)
        application = run_application(settings, database_url)
        space_id = insert_space(connection)
        with connect(application, connection, space_id) as assistant:
            proxy.target = application.base_url.removeprefix("http://")
            proxy.token = assistant.token
            yield proxy, f"{proxy.url}/mcp/{space_id}/public-api"
        application.stop()


def judge(node: Node, url: str, revision: str, folder: Path) -> dict[str, Outcome]:
    """Run every scenario that a revision requires, and return the outcomes."""
    node.run(
        node.package(SUITE), "server", "--url", url, "--requirements", revision,
        "--output-dir", str(folder),
    )  # fmt: skip
    outcomes: dict[str, Outcome] = {}
    for path in sorted(folder.glob("server-*/checks.json")):
        checks = json.loads(path.read_text())
        name = _STAMP.sub("", path.parent.name.removeprefix("server-"))
        failed_ids = tuple(check["id"] for check in checks if check["status"] == "FAILURE")
        passed_count = sum(check["status"] == "SUCCESS" for check in checks)
        outcomes[name] = Outcome(failed_ids, passed_count)
    return outcomes
