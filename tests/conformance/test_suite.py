"""The protocol's public conformance suite, for both eras: against the product, and against a fixture with
everything that the suite expects, behind the product's own endpoint.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headwater.assistants.mcp import server
from tests.conformance.fixtures import build_fixture_server
from tests.conformance.node import Node
from tests.conformance.suite import judge, run_exposed

# The fixture offers features that the newer era deprecates.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

EXPECTED: dict[str, dict[str, dict[str, list[str]]]] = tomllib.loads(
    Path(__file__).with_name("expected.toml").read_text()
)
SCENARIOS = {"2025-11-25": 33, "2026-07-28": 50}
"""The number of scenarios, so that an idle suite doesn't pass."""


@contextmanager
def serve(target: str, database_url: str, data_dir: Path) -> Iterator[str]:
    """Serve the product or the fixture, and yield the address."""
    with pytest.MonkeyPatch.context() as patch:
        if target == "fixture":
            patch.setattr(server, "build_server", lambda *_: build_fixture_server())
        with run_exposed(database_url, data_dir) as (proxy, url):
            yield url
            assert not {status for status in proxy.statuses if status in (401, 500, 503)}


@pytest.mark.parametrize("revision", SCENARIOS)
@pytest.mark.parametrize("target", EXPECTED)
def test_it_conforms(node: Node, database_url: str, tmp_path: Path, target: str, revision: str) -> None:
    with serve(target, database_url, tmp_path / "data") as url:
        outcomes = judge(node, url, revision, tmp_path / "out")
    failures = {name: outcome.failed_checks for name, outcome in outcomes.items() if outcome.failed_checks}
    expected = {name for names in EXPECTED[target][revision].values() for name in names}
    assert {name: check_ids for name, check_ids in failures.items() if name not in expected} == {}
    assert expected - failures.keys() == set(), "they pass: take them off the list"
    assert len(outcomes) == SCENARIOS[revision]


def test_every_reason_is_told() -> None:
    reasons: list[Any] = [
        reason for revisions in EXPECTED.values() for reasons in revisions.values() for reason in reasons
    ]
    assert all(len(reason) > 20 and reason.endswith(".") for reason in reasons)
