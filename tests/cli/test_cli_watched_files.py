"""`headwater watch …`: every command once, and bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headwater.cli import main
from tests.support.factories import Stage

URL = "https://reports.example/daily.csv"
TOKEN = "Bearer abc"  # made up


class Terminal:
    """Run commands of a Space, and check that their output never shows the secret."""

    def __init__(self, capsys: pytest.CaptureFixture[str], space_id: int) -> None:
        self.capsys, self.space_id = capsys, space_id

    def run(self, *arguments: str) -> tuple[int, str, str]:
        code = main(["watch", *arguments, "--space", str(self.space_id)])
        out, err = self.capsys.readouterr()
        assert TOKEN not in out + err
        return code, out, err

    def json(self, *arguments: str) -> Any:
        code, out, err = self.run(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)


@pytest.fixture
def terminal(
    capsys: pytest.CaptureFixture[str],
    database_url: str,
    stage: Stage,
    monkeypatch: pytest.MonkeyPatch,
    _no_service: None,
) -> Terminal:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    return Terminal(capsys, stage.space_id)


def test_it_works(terminal: Terminal, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(TOKEN)
    watched_file = terminal.json(
        "create", "--address", URL, "--set", "currency=EUR", "--set", "platform=meta",
        "--column", "Cost:amount", "--secret", f"authorization=@{secret}",
    )  # fmt: skip
    assert (watched_file["name"], watched_file["status"], watched_file["secrets"]) == (
        "daily.csv",
        "active",
        ["authorization"],
    )
    assert watched_file["settings"] == {"currency": "EUR", "platform": "meta", "columns": ["Cost:amount"]}
    assert terminal.json("list") == [watched_file]
    file = ["--file", str(watched_file["id"])]
    assert terminal.json("show", *file) == {**watched_file, "imports": []}
    new_version = terminal.json("set", *file, "--name", "Meta", "--set", "currency=USD")
    assert (new_version["name"], new_version["address"]) == ("Meta", URL)
    assert new_version["settings"] == {**watched_file["settings"], "currency": "USD"}
    assert terminal.json("pause", *file)["status"] == "paused"
    assert terminal.json("resume", *file)["status"] == "active"
    assert terminal.json("fetch", *file)["next_fetch_at"] <= terminal.json("resume", *file)["next_fetch_at"]
    assert terminal.json("remove", *file) == {"id": watched_file["id"], "status": "removed"}
    assert terminal.json("list") == []


def test_a_table(terminal: Terminal) -> None:
    terminal.json("create", "--address", URL)
    code, out, _ = terminal.run("list")
    assert code == 0
    assert "daily.csv" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("create", "--address", "ftp://reports.example/x.csv"),
        ("create", "--address", "file:///x.csv"),  # the operator permits no files
        ("create", "--address", URL, "--set", "currency=euro"),
        ("create", "--address", URL, "--set", "currency"),
        ("create", "--address", URL, "--column", "Cost"),
        ("create", "--address", "s3://bucket/x.csv"),
        ("set", "--file", "999999999", "--name", "Mine"),
        *((verb, "--file", "999999999") for verb in ("show", "pause", "resume", "fetch", "remove")),
    ],
)
def test_bad_input(terminal: Terminal, arguments: tuple[str, ...]) -> None:
    code, out, err = terminal.run(*arguments)
    assert (code, out) == (2, "")
    assert err
    assert terminal.json("list") == []


@pytest.mark.parametrize(
    "arguments", [("create",), ("show",), ("create", "--address", URL, "--kind", "order")]
)
def test_bad_options(terminal: Terminal, arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as error_info:
        terminal.run(*arguments)
    assert error_info.value.code == 2


def test_a_change_of_nothing_is_refused(terminal: Terminal) -> None:
    watched_file = terminal.json("create", "--address", URL)
    assert terminal.run("set", "--file", str(watched_file["id"]))[0] == 2
