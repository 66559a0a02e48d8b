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
    where = ("--data-dir", str(data_dir))
    with Serve(data_dir) as serve:
        url = serve.url()
        login = httpx.get(url, follow_redirects=True)
        assert "There is no account yet." in login.text, "whoever opens the address is told"
        assert "headwater user set-up-link" in login.text
        assert "<form" not in login.text, "nobody could log in"
        wait_until(lambda: links(serve))
        (link,) = links(serve)
        assert link.startswith(f"{url}/console/set-up/")
        again = json.loads(run_command("user", "set-up-link", *where, "--json").stdout)["url"]
        assert httpx.get(link).status_code == 404, "a newer one ends it"
        page = httpx.get(again)
        assert page.status_code == 200
        assert "first Space" in page.text
        space = json.loads(run_command("space", "create", "--name", "Shop", *where, "--json").stdout)
        made = run_command(
            "user", "create", "--email", "a@example.com", "--password-stdin", "--space", str(space["id"]),
            "--role", "owner", *where, typed=f"{PASSWORD}\n",
        )  # fmt: skip
        assert made.returncode == 0, made.stderr
        assert httpx.get(again).status_code == 404
        late = run_command("user", "set-up-link", *where)
        assert late.returncode == 2
        assert f"there is an account already; log in at {url}/login" in late.stderr
        assert "There is no account yet." not in httpx.get(f"{url}/login").text
        assert serve.stop() == 0
    with Serve(data_dir) as serve:
        serve.url()
        assert links(serve) == [link], "no other"
        assert serve.stop() == 0


def at_terminal(data_dir: Path, until: bytes, **variables: str) -> tuple[str, str]:
    """Start a service at a terminal and stop it once it has printed `until`. Return its standard output and
    its standard error.
    """
    terminal, theirs = pty.openpty()
    command = [sys.executable, "-m", "headwater", "serve", "--port", "0", "--data-dir"]
    process = subprocess.Popen(
        [*command, str(data_dir)], stdout=subprocess.PIPE, stderr=theirs, text=True,
        env=environment(**variables),
    )  # fmt: skip
    os.close(theirs)
    assert process.stdout is not None
    said = process.stdout.readline()
    written = b""
    while until not in written:
        written += os.read(terminal, 65536)
    process.send_signal(signal.SIGTERM)
    try:
        while more := os.read(terminal, 65536):
            written += more
    except OSError:  # Linux reports a terminal without a writer this way
        os.close(terminal)
    assert process.wait(PATIENCE_SECONDS) == 0
    process.stdout.close()
    return said, written.decode().replace("\r\n", "\n")


def test_at_a_terminal_it_is_for_people(tmp_path: Path) -> None:
    said, written = at_terminal(tmp_path / "data", b"Ctrl-C stops the service.")
    assert re.fullmatch(r"ready http://127\.0\.0\.1:\d+\n", said)
    url = said.split()[1]
    box = re.search(r"\n(-{60,})\n\n(.*?)\n\1\n", written, re.DOTALL)
    assert box is not None, written
    told, _, link, _ = box[2].split("\n")
    assert "create the first account" in told
    assert link.strip().startswith(f"{url}/console/set-up/")
    log, _, below = written.partition(box[0])
    assert f"Console        {url}/console\n" in below
    assert f"API reference  {url}/docs\n" in below
    line = re.compile(r"^\d\d:\d\d:\d\d info     (\w+)  \w+=.*\n", re.MULTILINE)
    assert line.findall(log) == ["starting", "migrated"], written
    assert not line.sub("", log).strip()
    assert "{" not in written
    assert written.count("/console/set-up/") == 1


def test_json_can_be_had_at_a_terminal(tmp_path: Path) -> None:
    _, written = at_terminal(install(tmp_path / "data"), b"/console/set-up/", HEADWATER_LOG_FORMAT="json")
    lines = [json.loads(line) for line in written.splitlines()]
    assert [line["event"] for line in lines].count("set_up") == 1
