"""Programs that end without closing their buffer, fork, or run in workers: every event arrives once."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Running
from tests.sdks.test_python_buffer import stored_orders
from tests.support.factories import Stage
from tests.support.processes import environment
from tests.support.sizes import ROOT
from tests.support.waiting import PATIENCE_SECONDS, wait_until

HEAD = """
import os, sys
from pathlib import Path
from headwater_client import Client, EventBuffer, processes
client = Client(os.environ["URL"], os.environ["KEY"])
file = Path(os.environ["FILE"]) if os.environ["FILE"] else None
def add(buffer, *names):
    for name in names:
        buffer.add({"event_name": "purchase", "email": "anna@example.com", "order_id": name})
"""
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(params=["memory", "file"])
def variables(
    request: pytest.FixtureRequest,
    server: Running,
    stage: Stage,
    make_key: Callable[..., str],
    tmp_path: Path,
) -> dict[str, str]:
    """The environment that a program needs to send, with a buffer in memory or in a file."""
    return environment(
        URL=server.base_url,
        KEY=make_key(stage.space_id),
        FILE=str(tmp_path / "events.db") if request.param == "file" else "",
        PYTHONPATH=os.pathsep.join((str(ROOT / "sdks" / "python" / "src"), str(tmp_path))),
    )


@pytest.fixture
def run(variables: dict[str, str]) -> Run:
    """A function that runs a program to its end."""

    def run_program(program: str, **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", HEAD + program], env=variables | extra, text=True, capture_output=True,
            check=False, timeout=PATIENCE_SECONDS,
        )  # fmt: skip

    return run_program


@pytest.mark.parametrize("end", ["", "sys.exit(0)", "raise RuntimeError"])
def test_an_exit_sends_what_waits(run: Run, stage: Stage, end: str) -> None:
    result = run(f"buffer = EventBuffer(client, file=file, seconds=60)\nadd(buffer, 'a', 'b', 'c')\n{end}")
    assert result.returncode == (1 if "raise" in end else 0), result.stderr
    assert stored_orders(stage) == ["a", "b", "c"]


def test_an_exit_with_a_hanging_service_ends_in_time(run: Run, variables: dict[str, str]) -> None:
    """Events in memory are lost, and the program reports it. Loading the program doesn't count."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        result = run(
            "import time\nprocesses.EXIT_SECONDS = 0.3\nbuffer = EventBuffer(client, file=file)\n"
            "add(buffer, 'a', 'b')\nprint(time.monotonic())",
            URL=f"http://127.0.0.1:{listener.getsockname()[1]}",
        )
        assert time.monotonic() - float(result.stdout) < 10
    assert result.returncode == 0
    assert ("2 events were not sent" in result.stderr) == (not variables["FILE"])


def test_a_fork_before_the_first_event(run: Run, stage: Stage) -> None:
    """gunicorn does this with --preload."""
    result = run("""
buffer = EventBuffer(client, file=file, seconds=60)
children = []
for name in ("a", "b"):
    child = os.fork()
    if not child:
        add(buffer, name)
        sys.exit(0)
    children.append(child)
for child in children:
    assert os.waitpid(child, 0)[1] == 0
add(buffer, "parent")
""")
    assert result.returncode == 0, result.stderr
    assert stored_orders(stage) == ["a", "b", "parent"]


def test_a_fork_while_events_wait_and_are_sent(run: Run, stage: Stage) -> None:
    """The parent sends its earlier events, and the child sends its own."""
    result = run("""
buffer = EventBuffer(client, file=file, seconds=0.0, batch=3)
client.list_destinations()
expected = []
for number in range(8):
    add(buffer, f"before-{number}", f"other-{number}")
    child = os.fork()
    if not child:
        client.list_destinations()
        add(buffer, f"child-{number}")
        assert buffer.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    client.list_destinations()
""")
    assert result.returncode == 0, result.stderr
    assert stored_orders(stage) == sorted(
        f"{name}-{number}" for name in ("before", "child", "other") for number in range(8)
    )


@pytest.mark.parametrize("module", ["multiprocessing", "billiard"])
def test_workers_that_skip_atexit_send_what_waits(run: Run, stage: Stage, module: str) -> None:
    """Workers of multiprocessing, and of billiard, which is Celery's version of it."""
    result = run(f"""
import {module} as workers
buffer = EventBuffer(client, file=file, seconds=60)
add(buffer, "parent")
context = workers.get_context("fork")
started = [context.Process(target=add, args=(buffer, name)) for name in ("a", "b")]
for worker in started:
    worker.start()
for worker in started:
    worker.join()
    assert worker.exitcode == 0
""")
    assert result.returncode == 0, result.stderr
    assert stored_orders(stage) == ["a", "b", "parent"]


SHOP = """
from celery import Celery
folders = {"data_folder_in": os.environ["QUEUE"], "data_folder_out": os.environ["QUEUE"],
           "control_folder": os.environ["QUEUE"] + "-control"}
app = Celery("shop", broker="filesystem://", broker_transport_options=folders)
buffer = EventBuffer(client, file=file, seconds=60)
@app.task
def order(number):
    add(buffer, f"order-{number}")
"""


@pytest.mark.parametrize("variables", ["memory"], indirect=True)
def test_celery(variables: dict[str, str], stage: Stage, tmp_path: Path) -> None:
    """Its prefork workers, and an end by SIGTERM."""
    (tmp_path / "queue").mkdir()
    (tmp_path / "shop.py").write_text(HEAD + SHOP)
    variables = variables | {"QUEUE": str(tmp_path / "queue")}
    log_path = tmp_path / "celery.log"
    command = ["celery", "-A", "shop", "worker", "--pool", "prefork", "--concurrency", "2",
               "--loglevel", "info", "--without-gossip", "--without-mingle"]  # fmt: skip
    with log_path.open("wb") as log:
        worker = subprocess.Popen(
            [sys.executable, "-m", *command], env=variables, stderr=log, stdout=log, cwd=tmp_path
        )
    try:
        script = "import shop\nfor number in range(10): shop.order.delay(number)"
        subprocess.run([sys.executable, "-c", script], env=variables, cwd=tmp_path, check=True)
        wait_until(lambda: log_path.read_text().count(" succeeded in ") == 10)
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(PATIENCE_SECONDS)
    assert stored_orders(stage) == sorted(f"order-{number}" for number in range(10))


APPLICATION = """
buffer = EventBuffer(client, file=file, seconds=60)
add(buffer, f"loaded-by-{os.getpid()}")
def application(environ, start_response):
    add(buffer, environ["PATH_INFO"].strip("/"))
    start_response("204 No Content", [])
    return []
"""


@pytest.mark.parametrize("options", [["--preload"], []], ids=["preload", "plain"])
def test_gunicorn(variables: dict[str, str], stage: Stage, tmp_path: Path, options: list[str]) -> None:
    """Requests go to several workers, and SIGTERM ends them. Without --preload, each worker loads the
    module.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    (tmp_path / "shop.py").write_text(HEAD + APPLICATION)
    command = ["gunicorn", "shop:application", "--workers", "2", "--bind", f"127.0.0.1:{port}",
               "--worker-tmp-dir", str(tmp_path), "--no-control-socket", *options]  # fmt: skip
    with (tmp_path / "gunicorn.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", *command], env=variables, stderr=log)

    def answers() -> bool:
        try:
            with socket.create_connection(("127.0.0.1", port)):
                return True
        except OSError:
            return False

    try:
        wait_until(answers)
        for number in range(12):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/order-{number}") as answer:
                assert answer.status == 204
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0, (tmp_path / "gunicorn.log").read_text()
    orders = [order for order in stored_orders(stage) if not order.startswith("loaded-by-")]
    assert orders == sorted(f"order-{number}" for number in range(12))
    assert len(stored_orders(stage)) - len(orders) == (1 if options else 2)
