"""The same version everywhere, a changelog entry for it, and the commit of a release."""

from __future__ import annotations

import hashlib
import re
import shutil
from datetime import date
from pathlib import Path

import pytest
from scripts.prepare_release import CHANGELOG, MIGRATIONS, RECORD, prepare, read_record
from scripts.versions import PLACES, find_differences, find_statements, read_version, write_version

from headwater import __version__
from headwater.database.programs import MAJOR
from headwater.endpoints.document import VERSION as API_VERSION
from headwater.operations.safety.database_rules import OLDEST_VERSION
from tests.support.releases import changelog_versions
from tests.support.sizes import ROOT

DAY = date(2026, 12, 1)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the files that a release changes."""
    for name in (*PLACES, CHANGELOG):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / MIGRATIONS, tmp_path / MIGRATIONS)
    heading = re.compile(r"^## \S+ \(.*\)$", re.MULTILINE)
    changelog = tmp_path / CHANGELOG
    changelog.write_text(heading.sub("## 7.8.9 (unreleased)", changelog.read_text(), count=1))
    return tmp_path


def test_it_works() -> None:
    assert read_version() == __version__
    assert find_differences() == []
    assert {statement.file for statement in find_statements()} == set(PLACES)


def test_the_api_has_a_version_of_its_own() -> None:
    assert API_VERSION == "1.3.0"


def test_the_changelog_begins_with_this_version_or_a_later_one() -> None:
    versions = changelog_versions()
    numbers = [tuple(map(int, version.split("."))) for version, _ in versions]
    assert numbers == sorted(set(numbers), reverse=True)
    assert __version__ in [version for version, _ in versions]
    assert [version for version, day in versions[1:] if day == "unreleased"] == []


def test_a_release_changes_every_place(copy: Path) -> None:
    prepare("7.8.9", DAY, copy)
    assert {statement.version for statement in find_statements(copy)} == {"7.8.9"}
    assert "## 7.8.9 (2026-12-01)\n" in (copy / CHANGELOG).read_text()
    schema = (copy / MIGRATIONS / "0001_schema.sql").read_bytes()
    assert read_record(copy / MIGRATIONS)["0001_schema.sql"] == hashlib.sha256(schema).hexdigest()
    before = (copy / MIGRATIONS / RECORD).read_text()
    with pytest.raises(ValueError, match="no heading"):
        prepare("7.8.9", DAY, copy)
    assert (copy / MIGRATIONS / RECORD).read_text() == before


def test_a_place_that_differs_is_found(copy: Path) -> None:
    file = copy / "deploy/compose.yaml"
    file.write_text(file.read_text().replace(__version__, "0.0.1"))
    assert find_differences(copy) == [("deploy/compose.yaml", "0.0.1")]
    file.write_text("services: {}\n")
    with pytest.raises(ValueError, match="states no version"):
        find_differences(copy)


def test_a_version_has_three_numbers(copy: Path) -> None:
    with pytest.raises(ValueError, match="not a version"):
        write_version("1.0", copy)


def test_supported_versions_are_those_that_are_tested() -> None:
    page = (ROOT / "docs/stability.md").read_text()
    classifiers = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert f"| Python | {', '.join(classifiers)} |" in page
    majors = [str(major) for major in range(OLDEST_VERSION // 10_000, MAJOR + 1)]
    assert f"| PostgreSQL | {', '.join(majors)} |" in page
