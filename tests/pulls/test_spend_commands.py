"""`headwater spend …`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headwater.cli import main
from tests.pulls.books import Books, fill
from tests.pulls.meta.pretend import TOKEN, PretendMeta
from tests.pulls.staging import TODAY
from tests.support.factories import Stage
from tests.support.fake_platform import FakePlatform

ACCOUNT = ("--platform", "meta", "--set", "ad_account_id=1234567890")


class Terminal:
    """Run commands of a Space, and check that their output never shows the token."""

    def __init__(self, capsys: pytest.CaptureFixture[str], space_id: int) -> None:
        self.capsys, self.space_id = capsys, space_id

    def run(self, command: str, *arguments: str) -> tuple[int, str, str]:
        code = main(["spend", command, *arguments, "--space", str(self.space_id)])
        out, err = self.capsys.readouterr()
        assert TOKEN not in out + err
        return code, out, err

    def json(self, command: str, *arguments: str, code: int = 0) -> Any:
        exit_code, out, err = self.run(command, *arguments, "--json")
        assert (exit_code, err) == (code, ""), out + err
        return json.loads(out)


@pytest.fixture
def terminal(
    capsys: pytest.CaptureFixture[str],
    stage: Stage,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    _no_service: None,
) -> Terminal:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    return Terminal(capsys, stage.space_id)


@pytest.fixture
def secret(tmp_path: Path) -> tuple[str, str]:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    return "--secret", f"access_token=@{file}"


def test_it_works(terminal: Terminal, secret: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    details = terminal.json("connect", *ACCOUNT, *secret, "--name", "Shop")
    assert (details["name"], details["status"], details["secrets"]) == ("Shop", "active", ["access_token"])
    connection = ("--connection", str(details["id"]))
    assert terminal.json("list") == [details] == [terminal.json("show", *connection)]
    assert terminal.json("set", *connection, "--name", "Shop 2")["name"] == "Shop 2"
    assert terminal.json("pause", *connection)["status"] == "paused"
    assert terminal.json("resume", *connection)["status"] == "active"
    assert terminal.json("pull", *connection)["status"] == "active"
    with FakePlatform(default=PretendMeta(fill(Books(), TODAY))) as platform:
        monkeypatch.setenv("HEADWATER_META_SPEND_URL", platform.url)
        result = terminal.json("check", *connection)
        assert (result["ok"], result["account"]["name"]) == (True, "Main shop")
        terminal.json("set", *connection, *secret, "--set", "ad_account_id=999")
        assert terminal.json("check", *connection, code=1)["ok"] is False
    assert terminal.json("disconnect", *connection) == {"id": details["id"], "status": "disconnected"}
    assert terminal.json("list") == []


def test_as_text(terminal: Terminal, secret: tuple[str, str]) -> None:
    code, out, _ = terminal.run("connect", *ACCOUNT, *secret)
    assert code == 0
    assert out.startswith("Meta “Meta”, connection ")
    assert "1234567890" in out
    _, text, _ = terminal.run("list")
    assert "active" in text


def test_a_destination_lends_its_token(terminal: Terminal, stage: Stage, secret: tuple[str, str]) -> None:
    words = ["--space", str(stage.space_id), "--platform", "meta", "--set", "pixel_id=1234567890", *secret]
    assert main(["destination", "create", *words, "--json"]) == 0
    destination = json.loads(terminal.capsys.readouterr().out)["id"]
    details = terminal.json("connect", *ACCOUNT, "--destination", str(destination))
    assert details["secrets"] == ["access_token"]
    code, out, err = terminal.run("connect", *ACCOUNT, "--destination", "999")
    assert (code, out) == (2, "")
    assert "destination_id" in err
