"""Commands print and use the addresses of the running service, even if the shell's own settings differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater.database.embedded import Embedded
from tests.support.commands import run_command
from tests.support.fake_platform import Answer, FakePlatform
from tests.support.installations import install
from tests.support.preloaded import CopiedServe
from tests.support.processes import run_at_terminal
from tests.support.waiting import wait_until

PIXEL = ("--platform", "meta", "--set", "pixel_id=1234567890")


def command(data_dir: Path, *arguments: str, **variables: str) -> Any:
    """Return a command's JSON output."""
    process = run_command(*arguments, "--data-dir", str(data_dir), "--json", **variables)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


@pytest.fixture(scope="module")
def meta() -> Iterator[FakePlatform]:
    with FakePlatform(default=Answer(body=b'{"events_received": 1}')) as platform:
        yield platform


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("service") / "data")


@pytest.fixture(scope="module")
def url(meta: FakePlatform, data_dir: Path) -> Iterator[str]:
    """The address of the service used by all tests."""
    with CopiedServe(data_dir, HEADWATER_META_URL=meta.url, HEADWATER_TRACKER_SCRIPT="/a.js") as serve:
        yield serve.url()
        assert serve.stop() == 0


def test_it_works(url: str, data_dir: Path, meta: FakePlatform) -> None:
    space = ("--space", str(command(data_dir, "space", "create", "--name", "Shop")["id"]))
    wrong = {"HEADWATER_BASE_URL": "http://elsewhere.example"}
    site = command(
        data_dir, "site", "create", *space, "--name", "x", "--origin", "https://x.example", **wrong
    )
    assert f'src="{url}/a.js"' in site["snippet"]
    (listed_site,) = command(data_dir, "site", "list", *space)
    assert listed_site["snippet"] == site["snippet"]
    hook = command(
        data_dir, "webhook", "create", *space, "--type", "generic", "--name", "n", "--set", "event=contact"
    )
    assert hook["url"].startswith(f"{url}/webhooks/")
    account_options = ("--email", "a@example.com", "--role", "admin")
    for words, path in (
        (("space", "create", "--name", "Second"), "/console/spaces/2"),
        (("key", "create", *space, "--name", "k"), "/public-api/v1"),
        (("user", "set-up-link"), "/console/set-up/"),
    ):
        output = run_at_terminal("-m", "headwater", *words, "--data-dir", str(data_dir), **wrong)
        assert f"{url}{path}" in output
    invitation = command(data_dir, "user", "invite", *space, *account_options)
    assert invitation["url"].startswith(f"{url}/console/")
    destination = command(data_dir, "destination", "create", *space, *PIXEL, "--secret", "access_token=x")
    assert try_destination(data_dir, *space, "--destination", str(destination["id"])) == []
    assert len(meta.requests) == 1, "the service's platform was called"


def test_a_start_that_fails_leaves_the_address_of_the_running_service(
    url: str, data_dir: Path, tmp_path: Path
) -> None:
    (tmp_path / "exports").symlink_to("exports")  # API processes can't open this storage
    wrong = {
        "HEADWATER_DATABASE_URL": Embedded(data_dir).url,
        "HEADWATER_SECRET_KEY": "k" * 40,
        "HEADWATER_BASE_URL": "https://elsewhere.example",
    }
    with CopiedServe(tmp_path, "--port", "0", command="api", **wrong) as api:
        assert api.wait() != 0
    assert set_up_link(data_dir).startswith(f"{url}/console/")
    with CopiedServe(tmp_path, **wrong) as second:
        wait_until(lambda: "process_ended" in second.log.read_text())
        assert second.stop() == 0
    assert set_up_link(data_dir).startswith(f"{url}/console/")


def test_a_process_without_a_supervisor_writes_its_address_down_too(url: str, data_dir: Path) -> None:
    assert set_up_link(data_dir).startswith(f"{url}/console/")
    public = {"HEADWATER_BASE_URL": "https://hw.example"}
    with CopiedServe(data_dir, "--port", "0", command="api", **public) as api:
        wait_until(lambda: stored_address(data_dir) == "https://hw.example")
        assert set_up_link(data_dir).startswith("https://hw.example/console/")
        api.stop()
    with CopiedServe(data_dir, "--port", "0", command="api") as api:
        wait_until(lambda: stored_address(data_dir) not in (url, "https://hw.example"))
        assert set_up_link(data_dir).startswith("http://127.0.0.1:")
        api.stop()


def stored_address(data_dir: Path) -> str:
    with psycopg.connect(Embedded(data_dir).url) as connection:
        row = connection.execute("SELECT base_url FROM installation").fetchone()
    assert row is not None
    return row[0]


def set_up_link(data_dir: Path) -> str:
    return command(data_dir, "user", "set-up-link")["url"]


def try_destination(data_dir: Path, *options: str) -> list[str]:
    """Test a new destination as documented, and return what prevented it."""
    data_options = ("--data-dir", str(data_dir))
    refusal = run_command("destination", "test", *options, *data_options)
    assert refusal.returncode == 1
    assert "test_event_code" in refusal.stdout
    advice = refusal.stdout.rpartition("headwater ")[2].strip().replace("CODE", "TEST1")
    assert run_command(*advice.split(), *data_options).returncode == 0
    result = run_command("destination", "test", *options, *data_options)
    return [] if result.returncode == 0 else [result.stdout, result.stderr]
