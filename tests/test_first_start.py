"""The first start: a link for the first account on standard error, and none once there is one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx

from tests.accounts import PASSWORD
from tests.processes import Serve, environment, headwater


def links(serve: Serve) -> list[str]:
    """The links in a service's log, the oldest first."""
    lines = [json.loads(line) for line in serve.log.read_text().splitlines() if line[:1] == "{"]
    return [line["open_once"] for line in lines if line["event"] == "set_up"]


def test_it_works(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    where = ("--data-dir", str(data_dir))
    with Serve(data_dir) as serve:
        url = serve.url()
        (link,) = links(serve)
        assert link.startswith(f"{url}/console/set-up/")
        page = httpx.get(link)
        assert page.status_code == 200
        assert "first Space" in page.text
        space = json.loads(headwater("space", "create", "--name", "Shop", *where, "--json").stdout)
        command = [
            sys.executable, "-m", "headwater", "user", "create", "--email", "a@example.com",
            "--password-stdin", "--space", str(space["id"]), "--role", "owner", *where,
        ]  # fmt: skip
        subprocess.run(
            command, input=f"{PASSWORD}\n", text=True, check=True, env=environment(),
            capture_output=True,
        )  # fmt: skip
        assert httpx.get(link).status_code == 404
        assert serve.stop() == 0
    with Serve(data_dir) as serve:
        serve.url()
        assert links(serve) == [link], "no other"
        assert serve.stop() == 0
