"""`headwater serve` as a process: started, stopped, killed, and with killed children."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil
import pytest

from headwater.base import listening_socket
from headwater.operations.supervision.record import was_killed
from tests.support.commands import run_command
from tests.support.installations import install
from tests.support.processes import Serve, headwater, is_alive, is_ready
from tests.support.waiting import PATIENCE_SECONDS, wait_until


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("serve") / "data")


@pytest.fixture
def serve(data_dir: Path) -> Iterator[Serve]:
    with Serve(data_dir) as service:
        yield service


def have_ended(processes: list[psutil.Process]) -> bool:
    return not any(map(is_alive, processes))


def test_it_works(serve: Serve, data_dir: Path) -> None:
    url = serve.url()
    assert is_ready(url)
    children = serve.children()
    assert serve.stop() == 0
    assert have_ended(children)
    assert not was_killed(data_dir)


def test_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        result = headwater("serve", "--port", str(port), "--data-dir", str(tmp_path))
    assert result.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use; stop the program" in result.stderr
    assert "choose another --port" in result.stderr


def test_port_in_use_by_one_that_ends() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor() as threads:
        port = listener.getsockname()[1]
        with pytest.raises(OSError, match="in use"):
            listening_socket.bind("127.0.0.1", port, patience=0)
        bound = threads.submit(listening_socket.bind, "127.0.0.1", port, PATIENCE_SECONDS)
        listener.close()
        with bound.result() as second_listener:
            assert second_listener.getsockname()[1] == port


def test_killed_supervisor_leaves_nothing_and_can_start_again(serve: Serve, data_dir: Path) -> None:
    url = serve.url()
    children = serve.children()
    serve.kill()
    assert was_killed(data_dir)  # so that the next one waits longer for the address
    with Serve(data_dir, "--port", str(urlsplit(url).port)) as second_service:
        assert second_service.url() == url
        wait_until(lambda: have_ended(children), description="the end of the orphans")
        assert is_ready(url)
        assert second_service.stop() == 0


def test_several_processes_share_the_work(data_dir: Path) -> None:
    """Two API processes share the socket, and two pipelines share the Spaces. While one of either is dead or
    frozen, the other one does all the work.
    """
    with Serve(data_dir, "--port", "0", "--workers", "2", "--pipelines", "2") as serve:
        url = serve.url()
        api = serve.find_children(" api ")
        assert len(api) == 2
        with urllib.request.urlopen(f"{url}/metrics", timeout=PATIENCE_SECONDS) as answer:
            assert b"headwater_inbox_rows 0.0" in answer.read()
        api[0].kill()
        wait_until(lambda: is_ready(url), description="an answer from the other one")
        assert_one_pipeline_is_enough(serve, url, data_dir)
        assert serve.stop() == 0


def assert_one_pipeline_is_enough(serve: Serve, url: str, data_dir: Path) -> None:
    data_options = ("--data-dir", str(data_dir), "--json")
    space = json.loads(run_command("space", "create", "--name", "Shop", *data_options).stdout)
    owner = ("--space", str(space["id"]))
    key = json.loads(run_command("key", "create", *owner, "--name", "k", *data_options).stdout)["key"]
    idle_pipeline, _ = serve.find_children(" worker ")
    idle_pipeline.suspend()
    try:
        answer = httpx.post(
            f"{url}/public-api/v1/events/track",
            json={"event_name": "purchase", "email": "ada@example.com", "amount": 5},
            headers={"Authorization": f"Bearer {key}"},
        )
        assert answer.status_code == 202, answer.text
        result = run_command("queue", "wait", "--timeout", str(PATIENCE_SECONDS), *data_options[:2])
        assert result.returncode == 0, result.stderr
    finally:
        idle_pipeline.resume()  # otherwise it would outlive the service


def test_supervisor_stays_small() -> None:
    heavy = "pydantic starlette structlog uvicorn psycopg_pool headwater.app"
    program = (
        "import sys, headwater.cli.service.serve, headwater.cli.commands;"
        f"print([name for name in {heavy.split()} if name in sys.modules])"
    )
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"
