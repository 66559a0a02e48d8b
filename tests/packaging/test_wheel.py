"""The wheel is the product: it is complete, reproducible by anyone, and runs outside the repository."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import httpx
import pytest

from headwater import __version__
from tests.packaging.wheel import build, copy_sources, from_the_index, uv
from tests.support.processes import environment
from tests.support.sizes import ROOT
from tests.support.waiting import PATIENCE_SECONDS

WHEEL = f"headwater-{__version__}-py3-none-any.whl"
LAST_LINE = "It goes on serving"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    build(copy_sources(folder / "source", 0o600, 1e9), folder / "built")
    return folder / "built" / WHEEL


def run(command: list[str], folder: Path, **variables: str) -> subprocess.Popen[str]:
    """Start a program in an empty folder, with only the environment variables of a login."""
    all_variables = environment(**variables)
    bare = {name: all_variables[name] for name in ("PATH", "HOME", *variables) if name in all_variables}
    return subprocess.Popen(
        command, cwd=folder, env=bare, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def output(command: list[str], folder: Path, **variables: str) -> str:
    """Run a program to its successful end and return its output."""
    process = run(command, folder, **variables)
    output_text, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    return output_text


def stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    assert process.wait(PATIENCE_SECONDS) == 0
    assert process.stdout is not None
    process.stdout.close()


def send_purchase(base_url: str, key: str) -> int:
    """Send an event and return the status of the answer."""
    return httpx.post(
        f"{base_url}/public-api/v1/events/track",
        headers={"Authorization": f"Bearer {key}"},
        json={"event_name": "purchase", "email": "anna@example.com", "amount": 89.5},
        timeout=PATIENCE_SECONDS,
    ).status_code


def test_it_works(wheel: Path, tmp_path: Path) -> None:
    """The wheel's files, with this environment's dependencies, serve and accept an event from an empty
    folder.
    """
    code, empty = tmp_path / "code", tmp_path / "empty"
    empty.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(code)
    program = [sys.executable, "-m", "headwater"]
    output_text = output(
        [sys.executable, "-c", "import headwater; print(headwater.__file__)"],
        empty, PYTHONPATH=str(code),
    )  # fmt: skip
    assert Path(output_text.strip()).is_relative_to(code)
    service = run([*program, "serve", "--port", "0"], empty, PYTHONPATH=str(code))
    assert service.stdout is not None
    url = service.stdout.readline().removeprefix("ready ").strip()
    space = output([*program, "space", "create", "--name", "S", "--json"], empty,
                   PYTHONPATH=str(code))  # fmt: skip
    key = output([*program, "key", "create", "--space", str(json.loads(space)["id"]), "--name",
                  "k", "--json"], empty, PYTHONPATH=str(code))  # fmt: skip
    assert send_purchase(url, json.loads(key)["key"]) == 202
    for path in ("/t.js", "/docs", "/login", "/public-api/v1/openapi.json"):
        assert httpx.get(url + path, timeout=PATIENCE_SECONDS).status_code == 200
    stop(service)


def test_it_holds_every_file(wheel: Path) -> None:
    tracked_names = subprocess.run(
        ["git", "ls-files", "-z", "src"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    expected = {name.removeprefix("src/") for name in tracked_names if (ROOT / name).is_file()}
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if name.startswith("headwater/")}
    assert expected - names == set()
    assert [name for name in names - expected if not (ROOT / "src" / name).is_file()] == []


def test_two_builds_are_identical(wheel: Path, tmp_path: Path) -> None:
    """Other modes, times and folders don't change the bytes. The source archive is identical, too."""
    second_folder = tmp_path / "again"
    build(copy_sources(tmp_path / "source", 0o644, time.time()), second_folder)
    names = [WHEEL, f"headwater-{__version__}.tar.gz"]
    for name in names:
        assert (second_folder / name).read_bytes() == (wheel.parent / name).read_bytes()


def test_its_metadata(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"headwater-{__version__}.dist-info/METADATA").decode()
        bill = archive.read(f"headwater-{__version__}.dist-info/sboms/headwater.cdx.json")
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    (matrix,) = re.findall(r"^ +python: \[(.*)\]$", workflow, re.MULTILINE)
    tested_versions = re.findall(r'"(3\.\d+)"', matrix)
    assert re.findall(r"^Classifier: .* :: (3\.\d+)$", metadata, re.MULTILINE) == tested_versions
    assert "Requires-Python: >=3.11" in metadata
    assert bill == (ROOT / "requirements" / "headwater.cdx.json").read_bytes()


def make_environment(folder: Path, wheel: Path) -> Path:
    """Return the programs of a new environment with the wheel and the pinned versions of its dependencies."""
    uv("venv", "--python", sys.executable, str(folder))
    uv("pip", "install", "--python", str(folder / "bin" / "python"), str(wheel),
       "--constraint", str(ROOT / "requirements" / "base.txt"))  # fmt: skip
    return folder / "bin"


@from_the_index
def test_a_fresh_environment_demonstrates(wheel: Path, tmp_path: Path) -> None:
    """From the wheel to the first acknowledged event. The seconds are printed (`-s`)."""
    start, empty = time.monotonic(), tmp_path / "empty"
    empty.mkdir()
    programs = make_environment(tmp_path / "environment", wheel)
    installed_at = time.monotonic()
    assert output([str(programs / "headwater"), "--version"], empty) == f"headwater {__version__}\n"
    demo = run([str(programs / "headwater"), "demo", "--port", "0"], empty)
    assert demo.stdout is not None
    output_text = ""
    while LAST_LINE not in output_text:
        line = demo.stdout.readline()
        assert line, output_text
        output_text += line
    address, key = (
        re.search(pattern, output_text, re.MULTILINE)
        for pattern in (r"^Address +(\S+)$", r"API key +(trk_sk_\S+)")
    )
    assert address is not None
    assert key is not None
    assert send_purchase(address[1], key[1]) == 202
    seconds = (installed_at - start, time.monotonic() - start)
    print("installed after {:.1f} s, first event after {:.1f} s".format(*seconds))  # noqa: T201
    stop(demo)


@from_the_index
@pytest.mark.parametrize(
    "platform", ["x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "aarch64-apple-darwin"]
)
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_there_are_wheels(python: str, platform: str) -> None:
    """Every pinned dependency has a wheel, including those of extras. On macOS, rjsmin is a source package
    that needs no compiler.
    """
    uv("pip", "compile", "--python-version", python, "--python-platform", platform,
       "--only-binary", ":all:", "--no-binary", "rjsmin", "--output-file", os.devnull,
       "--all-extras", "--constraint", "requirements/dev.txt", "pyproject.toml")  # fmt: skip
