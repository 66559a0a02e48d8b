"""The forge's workflows: every step runs something that exists here with the least permissions, and every
supported version is tested. `make release-check` also runs the workflow linters.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from scripts.publish import TARGETS
from scripts.release_check import STEPS

from headwater.database.programs import MAJOR
from headwater.operations.safety.database_rules import OLDEST_VERSION
from tests.support.sizes import ROOT

FOLDER = ROOT / ".github" / "workflows"
FILES = sorted(FOLDER.glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text()
PROGRAMS = {"make", ".ci/run", "apt-get"}
WRITERS = {
    "attest": {"id-token", "attestations"},
    "python": {"id-token"},
    "npm": {"id-token"},
    "registry": {"packages", "id-token", "attestations"},
    "release": {"contents"},
    "site": {"pages", "id-token"},
}
"""The jobs of a release that may write, with their permissions."""
by_name = {"ids": lambda path: path.name}


def load(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text())


def jobs() -> list[tuple[str, str, dict[str, Any]]]:
    return [(path.name, name, job) for path in FILES for name, job in load(path)["jobs"].items()]


def commands(job: dict[str, Any]) -> Iterator[list[str]]:
    """Yield the command lines of a job's steps, once for each word in its matrix."""
    matrix = job.get("strategy", {}).get("matrix", {})
    for step in job["steps"]:
        text = step.get("run", "").replace("\\\n", " ")
        for line in text.splitlines():
            for words in matrix.get("words", [""]):
                yield shlex.split(line.replace("$WORDS", words).partition("<<<")[0])


ALL = [(file, name, command) for file, name, job in jobs() for command in commands(job)]


def test_it_works() -> None:
    """Every command of a workflow is a target with existing options."""
    assert len(ALL) > 20
    for file, name, words in ALL:
        assert words[0] in PROGRAMS, (file, name)
        targets = [word for word in words[1:] if "=" not in word and not word.startswith("-")]
        if words[0] != "apt-get" and targets:
            assert [target for target in targets if f"\n{target}: " not in MAKEFILE] == [], (file, name)


def test_what_they_name_is_there() -> None:
    for file, name, words in ALL:
        paths = [path for word in words for path in re.findall(r"\btests/[\w/]+(?:\.py)?", word)]
        assert [path for path in paths if not (ROOT / path).exists()] == [], (file, name)
        options = [value.removeprefix("ARGS=") for value in words if value.startswith("ARGS=--")]
        steps = [step for value in options for step in re.findall(r"--skip (\w+)", value)]
        assert set(steps) <= STEPS.keys()
        assert {word[5:] for word in words if word.startswith("WHAT=")} <= TARGETS.keys()


def test_every_variable_is_read_by_a_test() -> None:
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    for _, _, job in jobs():
        for step in job["steps"]:
            names = [name for name in step.get("env", {}) if name.startswith("HEADWATER_")]
            assert [name for name in names if f'"{name}"' not in tests] == []


@pytest.mark.parametrize("path", FILES, **by_name)
def test_actions_are_pinned_by_commit(path: Path) -> None:
    """The version is in a comment. The same action has the same version everywhere."""
    uses = re.findall(r"uses: (.*)", path.read_text())
    assert [use for use in uses if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)] == []
    everywhere = {use for file in FILES for use in re.findall(r"uses: (.*)", file.read_text())}
    assert len(everywhere) == len({use.partition("@")[0] for use in everywhere})


@pytest.mark.parametrize(
    ("file", "name", "job"), jobs(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_rights_are_the_least(file: str, name: str, job: dict[str, Any]) -> None:
    assert load(FOLDER / file)["permissions"] == {}
    writes = {scope for scope, right in job["permissions"].items() if right == "write"}
    assert writes == (WRITERS.get(name, set()) if file == "release.yml" else set())
    assert not (writes & {"packages", "contents", "pages"}) or job["environment"]
    checkouts = [step for step in job["steps"] if "actions/checkout@" in step.get("uses", "")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)
    assert [step["run"] for step in job["steps"] if "${{" in step.get("run", "")] == []
    assert job["timeout-minutes"]


def test_pull_requests_try_every_supported_version() -> None:
    matrix = load(FOLDER / "ci.yml")["jobs"]["test"]["strategy"]["matrix"]
    classifiers = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert matrix["python"] == classifiers == [entry["python"] for entry in matrix["include"]]
    majors = {entry["postgresql"] for entry in matrix["include"]}
    assert majors == {str(major) for major in range(OLDEST_VERSION // 10_000, MAJOR + 1)}
    for entry in matrix["include"]:
        assert entry["programs"] in (entry["postgresql"], f"/usr/lib/postgresql/{entry['postgresql']}/bin")
    count = len(matrix["share"])
    assert matrix["share"] == [f"{number}/{count}" for number in range(1, count + 1)]


def test_what_runs_there_runs_here() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert script.read_text().endswith('(($#)) || set -- check test\nmake "$@"\n')
