"""The first start: it logs a link for the first account until one exists. At a terminal, all output is
formatted for people.
"""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx

from tests.support.accounts import PASSWORD
from tests.support.commands import run_command
from tests.support.installations import install
from tests.support.processes import Serve, environment
from tests.support.waiting import PATIENCE_SECONDS, wait_until


def links(serve: Serve) -> list[str]:
    """Return the links in a service's log, oldest first."""
    lines = [json.loads(line) for line in serve.log.read_text().splitlines() if line[:1] == "{"]
    return [line["open_once"] for line in lines if line["event"] == "set_up"]


def test_it_works(tmp_path: Path) -> None:
    data_dir = install(tmp_path / "data")
    data_options = ("--data-dir", str(data_dir))
    with Serve(data_dir) as serve:
        url = serve.url()
        login = httpx.get(url, follow_redirects=True)
        assert "There is no account yet." in login.text, "whoever opens the address is told"
        assert "headwater user set-up-link" in login.text
        assert "<form" not in login.text, "nobody could log in"
        wait_until(lambda: links(serve))
        (link,) = links(serve)
        assert link.startswith(f"{url}/console/set-up/")
        second_link = json.loads(run_command("user", "set-up-link", *data_options, "--json").stdout)["url"]
        assert httpx.get(link).status_code == 404, "a newer one ends it"
        page = httpx.get(second_link)
        assert page.status_code == 200
        assert "first Space" in page.text
        space = json.loads(run_command("space", "create", "--name", "Shop", *data_options, "--json").stdout)
        result = run_command(
            "user", "create", "--email", "a@example.com", "--password-stdin", "--space", str(space["id"]),
            "--role", "owner", *data_options, stdin=f"{PASSWORD}\n",
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        assert httpx.get(second_link).status_code == 404
        second_result = run_command("user", "set-up-link", *data_options)
        assert second_result.returncode == 2
        assert f"there is an account already; log in at {url}/login" in second_result.stderr
        assert "There is no account yet." not in httpx.get(f"{url}/login").text
        assert serve.stop() == 0
    with Serve(data_dir) as serve:
        serve.url()
        assert links(serve) == [link], "no other"
        assert serve.stop() == 0


def serve_at_terminal(data_dir: Path, last_output: bytes, **variables: str) -> tuple[str, str]:
    """Start a service at a terminal and stop it once it has printed `last_output`. Return its standard
    output and its standard error.
    """
    terminal, child_terminal = pty.openpty()
    command = [sys.executable, "-m", "headwater", "serve", "--port", "0", "--data-dir"]
    process = subprocess.Popen(
        [*command, str(data_dir)], stdout=subprocess.PIPE, stderr=child_terminal, text=True,
        env=environment(**variables),
    )  # fmt: skip
    os.close(child_terminal)
    assert process.stdout is not None
    ready_line = process.stdout.readline()
    output = b""
    while last_output not in output:
        output += os.read(terminal, 65536)
    process.send_signal(signal.SIGTERM)
    try:
        while chunk := os.read(terminal, 65536):
            output += chunk
    except OSError:  # Linux reports a terminal without a writer this way
        os.close(terminal)
    assert process.wait(PATIENCE_SECONDS) == 0
    process.stdout.close()
    return ready_line, output.decode().replace("\r\n", "\n")


def test_at_a_terminal_it_is_for_people(tmp_path: Path) -> None:
    ready_line, output = serve_at_terminal(tmp_path / "data", b"Ctrl-C stops the service.")
    assert re.fullmatch(r"ready http://127\.0\.0\.1:\d+\n", ready_line)
    url = ready_line.split()[1]
    box = re.search(r"\n(-{60,})\n\n(.*?)\n\1\n", output, re.DOTALL)
    assert box is not None, output
    explanation, _, link, _ = box[2].split("\n")
    assert "create the first account" in explanation
    assert link.strip().startswith(f"{url}/console/set-up/")
    log, _, text_below = output.partition(box[0])
    assert f"Console        {url}/console\n" in text_below
    assert f"API reference  {url}/docs\n" in text_below
    line = re.compile(r"^\d\d:\d\d:\d\d info     (\w+)  \w+=.*\n", re.MULTILINE)
    assert line.findall(log) == ["starting", "migrated"], output
    assert not line.sub("", log).strip()
    assert "{" not in output
    assert output.count("/console/set-up/") == 1


def test_json_can_be_had_at_a_terminal(tmp_path: Path) -> None:
    _, output = serve_at_terminal(
        install(tmp_path / "data"), b"/console/set-up/", HEADWATER_LOG_FORMAT="json"
    )
    lines = [json.loads(line) for line in output.splitlines()]
    assert [line["event"] for line in lines].count("set_up") == 1
