"""The files for the package index and packagers: complete archives, and pages with working links."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest

from headwater import __version__
from tests.packaging.wheel import build, uv
from tests.support.processes import environment
from tests.support.sizes import ROOT

PROJECT = tomllib.loads((ROOT / "project.toml").read_text())
CLIENT = ROOT / "sdks" / "python"
OURS = re.compile(rf"{re.escape(PROJECT['address'])}/(?:blob|raw)/v{re.escape(__version__)}/([^)\s#]+)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archives of both packages."""
    folder = tmp_path_factory.mktemp("archives")
    build(ROOT, folder)
    build(CLIENT, folder)
    return folder


def read_metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_string(archive.read(name).decode())


def read_names(archive: Path) -> set[str]:
    with tarfile.open(archive) as tar:
        return {name.partition("/")[2] for name in tar.getnames()}


@pytest.mark.parametrize("package", ["headwater", "headwater_client"])
def test_its_page_works_on_the_index(folder: Path, package: str) -> None:
    """Authors and project URLs are complete. No link is relative, and every link to a file leads to one."""
    metadata = read_metadata(folder / f"{package}-{__version__}-py3-none-any.whl")
    addresses = dict(line.split(", ") for line in metadata.get_all("Project-URL", []))
    assert addresses.keys() == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    assert all(address.startswith(PROJECT["address"]) for address in addresses.values())
    assert PROJECT["authors"][0]["name"] in metadata["Author-Email"]
    assert (metadata["License-Expression"], metadata["License-File"]) == ("Apache-2.0", "LICENSE")
    page = str(metadata.get_payload())
    assert re.findall(r"\]\((?!https?://|#)[^)]*\)", page) == []
    paths = OURS.findall(page) + OURS.findall(" ".join(addresses.values()))
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_source_archive_has_every_file(folder: Path) -> None:
    """A packager can run the tests from it."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split("\0")
    tracked_names = {name for name in names if name and (ROOT / name).is_file()}
    if not tracked_names:
        pytest.skip("not a git checkout")
    assert tracked_names - read_names(folder / f"headwater-{__version__}.tar.gz") == set()


def test_the_client_is_built_from_its_source_archive(folder: Path, tmp_path: Path) -> None:
    """The wheel is identical, has the licence, and can be built without the repository."""
    archive = folder / f"headwater_client-{__version__}.tar.gz"
    assert {"LICENSE", "README.md", "project.toml", "hatch_build.py"} <= read_names(archive)
    with tarfile.open(archive) as package:
        package.extractall(tmp_path, filter="data")
    uv("build", "--wheel", "--no-build-isolation", "--offline", "--out-dir", str(tmp_path / "built"),
       str(tmp_path / f"headwater_client-{__version__}"))  # fmt: skip
    (wheel,) = (tmp_path / "built").glob("*.whl")
    assert wheel.read_bytes() == (folder / wheel.name).read_bytes()
    with zipfile.ZipFile(wheel) as package:
        licence = package.read(f"headwater_client-{__version__}.dist-info/licenses/LICENSE")
        package.extractall(tmp_path / "code")
    assert licence == (ROOT / "LICENSE").read_bytes()
    script = "import headwater_client; print(headwater_client.__file__)"
    variables = environment(PYTHONPATH=os.fspath(tmp_path / "code"))
    result = subprocess.run(
        [sys.executable, "-c", script], env=variables, capture_output=True, text=True, check=True
    )
    assert Path(result.stdout.strip()).is_relative_to(tmp_path)
