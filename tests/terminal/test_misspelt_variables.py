"""A HEADWATER_ variable that is almost a setting is reported, before any setting is used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headwater.base.settings import PREFIX, READERS
from headwater.cli import main


def misspelt(name: str) -> list[str]:
    """Return the name with one letter missing, and with two swapped."""
    middle = len(name) // 2
    misspelling = name[:middle] + name[middle + 1] + name[middle] + name[middle + 2 :]
    return [word for word in (name[:-1], misspelling) if word not in READERS]


CASES = [(word, name) for name in READERS if len(name) > 5 for word in misspelt(name)]


def test_it_works(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("HEADWATER_DATABSE_URL", "postgresql://x")
    assert main(["check"]) == 2
    assert capsys.readouterr().err == (
        "headwater: HEADWATER_DATABSE_URL: there is no such setting. Did you mean HEADWATER_DATABASE_URL?\n"
    )


@pytest.mark.parametrize(("misspelling", "name"), CASES)
def test_every_setting(misspelling: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv(PREFIX + misspelling.upper(), "1")
    assert main(["check"]) == 2
    assert PREFIX + name.upper() in capsys.readouterr().err


def test_a_backup_to_a_folder_that_is_missing(tmp_path: Path, capsys: Any) -> None:
    missing = tmp_path / "bk"
    assert main(["backup", str(missing), "--data-dir", str(tmp_path)]) == 2
    assert f"there is no folder {missing}" in capsys.readouterr().err
    assert not missing.exists()
