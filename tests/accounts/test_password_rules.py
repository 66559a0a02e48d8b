"""New passwords: their length, breached passwords, and context words."""

from __future__ import annotations

import subprocess
from importlib.resources import files
from pathlib import Path

import pytest
from scripts.refresh_breached_passwords import build

from headwater.http.errors import Invalid
from headwater.spaces.accounts import passwords
from headwater.spaces.accounts.passwords import BREACHED, MIN_LENGTH, check_password, hash_breached

CONTEXT = ("Acme Insights", "ada.lovelace@shop.example", "Ada Lovelace", "Grüne Straße 7")
HASHES = files("headwater.spaces.accounts").joinpath(BREACHED).read_text(encoding="utf-8").split("\n\n")[1]


def refuse(password: str) -> str:
    with pytest.raises(Invalid) as error:
        check_password(password, CONTEXT)
    assert list(error.value.errors) == ["password"]
    return error.value.errors["password"][0]


def test_it_works() -> None:
    for password in ("correct horse battery", "          ", "ß" * 10, "x" * 256, "ada's seventh cat"):
        check_password(password, CONTEXT)
    for password in ("password123", "PassWord123", "qwertyuiop", "1q2w3e4r5t"):
        assert "breaches" in refuse(password)
    for password in ("headwater2026", "lovelace-2026", "insights-acme", "LoveLaceShop", "GRÜNESTRASSE7"):
        assert "besides" in refuse(password)
    check_password("lovelace and nine cats", CONTEXT)


def test_the_list_is_long_enough() -> None:
    """ASVS requires at least the 3,000 most frequent passwords that the other rules permit."""
    lines = HASHES.split()
    assert len(lines) > 9000
    assert lines == sorted(set(lines))
    assert {len(line) for line in lines} == {len(hash_breached("x"))}


@pytest.mark.parametrize("line", [HASHES.split()[0], HASHES.split()[-1]])
def test_the_first_and_the_last_line_count(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "hash_breached", lambda _: line)
    assert "breaches" in refuse("correct horse battery")


def test_a_part_of_a_line_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "hash_breached", lambda _: HASHES.split()[0][1:])
    check_password("correct horse battery", CONTEXT)


def test_the_list_is_rebuilt_from_its_origin(tmp_path: Path) -> None:
    names = ("wordlists/ignis-100K.txt", "LICENSE")
    for name, text in zip(
        names, ("123456\nOpenSesame1\nopensesame1\nshort\n", "MIT License\n\nText\n"), strict=True
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    commands = (["init", "-q"], ["add", "."],
                ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x"])  # fmt: skip
    for command in commands:
        subprocess.run(["git", "-C", tmp_path, *command], check=True)
    head, _, lines = build(tmp_path).partition("\n\n")
    assert lines.split() == [hash_breached("OPENSESAME1")]
    assert f"with {MIN_LENGTH} characters" in head
    assert head.endswith("# MIT License\n#\n# Text")
