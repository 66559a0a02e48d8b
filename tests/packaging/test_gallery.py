"""The repository for Google's Community Template Gallery: its files, and the template's versions."""

from __future__ import annotations

import os
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from scripts.write_gallery import TEMPLATE, main

from tests.support.sizes import ROOT

ADDRESS = tomllib.loads((ROOT / "project.toml").read_text())["address"]
TERMS = "___TERMS_OF_SERVICE___\n\nThe publisher agrees.\n\n\n"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    names = (f"GIT_{role}_{attribute}" for role in ("AUTHOR", "COMMITTER") for attribute in ("NAME", "EMAIL"))
    identity = dict.fromkeys(names, "a@b.example")
    result = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**os.environ, **identity},
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout.strip()


def commit(folder: Path) -> str:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Files")
    return git(folder, "rev-parse", "HEAD")


def write(clone: Path, notes: str) -> str:
    return main([str(clone), notes])


def agree(clone: Path) -> None:
    """Accept the terms as Tag Manager's export does."""
    template = clone / "template.tpl"
    template.write_text(TERMS + template.read_text())


def read_versions(clone: Path) -> list[dict[str, str]]:
    return yaml.safe_load((clone / "metadata.yaml").read_text())["versions"]


def test_it_works(clone: Path) -> None:
    """Each run prints the publisher's next step, and the last run writes the version."""
    assert "terms of service" in write(clone, "First: all of it")
    agree(clone)
    assert "Commit template.tpl" in write(clone, "First: all of it")
    first = commit(clone)
    assert "Commit metadata.yaml" in write(clone, "First: all of it")
    metadata = yaml.safe_load((clone / "metadata.yaml").read_text())
    assert metadata["homepage"] == ADDRESS
    path = metadata["documentation"].removeprefix(f"{ADDRESS}/blob/main/")
    assert (ROOT / path).is_file()
    assert metadata["versions"] == [{"sha": first, "changeNotes": "First: all of it"}]
    assert (clone / "template.tpl").read_text() == TERMS + TEMPLATE.read_text()
    assert (clone / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert f"{ADDRESS}/blob/main/README.md" in (clone / "README.md").read_text()


def test_a_later_template_gets_a_version_before_the_former_ones(clone: Path) -> None:
    write(clone, "First")
    agree(clone)
    (clone / "template.tpl").write_text((clone / "template.tpl").read_text() + "\n")
    first = commit(clone)
    write(clone, "Not yet")  # resets the template to ours, which is a change
    second = commit(clone)
    write(clone, "Second")
    commit(clone)
    write(clone, "Again")
    assert read_versions(clone) == [{"sha": second, "changeNotes": "Second"}]
    assert first != second


def test_the_former_versions_stay(clone: Path) -> None:
    former = "0" * 40
    write(clone, "First")
    agree(clone)
    (clone / "metadata.yaml").write_text(f'versions:\n  - sha: "{former}"\n    changeNotes: Old\n')
    newest = commit(clone)
    write(clone, "Second")
    assert [version["sha"] for version in read_versions(clone)] == [newest, former]
