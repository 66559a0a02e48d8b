"""A running `headwater serve` restarts processes that die, and is the only one on its data directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import run_command
from tests.support.installations import install
from tests.support.preloaded import CopiedServe
from tests.support.processes import Serve, is_ready
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("serve") / "data")


@pytest.fixture(scope="module")
def serve(data_dir: Path) -> Iterator[Serve]:
    with CopiedServe(data_dir) as service:
        yield service


@pytest.fixture(scope="module")
def url(serve: Serve) -> str:
    return serve.url()


@pytest.mark.parametrize("role", ["worker", " api ", "postgres"])
def test_killed_child_is_started_again(serve: Serve, url: str, role: str) -> None:
    (victim,) = serve.find_children(role)
    victim.kill()
    wait_until(
        lambda: [process.pid for process in serve.find_children(role)] not in ([], [victim.pid]),
        description=f"a new {role}",
    )
    wait_until(lambda: is_ready(url), description="a service that is ready again")


@pytest.mark.usefixtures("url")
def test_two_on_one_data_directory(data_dir: Path) -> None:
    second = run_command("serve", "--port", "0", "--data-dir", str(data_dir))
    assert (second.returncode, second.stdout) == (2, "")
    assert "another `headwater serve` runs on" in second.stderr


def test_two_on_one_data_directory_with_an_external_database(
    young_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second would take the first one's counters."""
    monkeypatch.setenv("HEADWATER_DATABASE_URL", young_url)
    with CopiedServe(tmp_path / "data", HEADWATER_DATABASE_URL=young_url) as serve:
        serve.url()
        second = run_command("serve", "--port", "0", "--data-dir", str(tmp_path / "data"))
        assert (second.returncode, second.stdout) == (2, "")
        assert "another `headwater serve` runs on" in second.stderr
        assert serve.stop() == 0
