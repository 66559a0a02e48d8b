"""The files in `deploy/` except the chart (`test_chart.py`): they match this version, its commands, its
variables and its image, and confine what they run. Whether they run is tested with the engines that read them
(docs/install.md).
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from scripts.build_image import CONFIG, DATA

from headwater import __version__
from headwater.base.settings import PREFIX, READERS
from headwater.cli.commands import COMMANDS, build_parser
from tests.support.sizes import ROOT

DEPLOY = ROOT / "deploy"
COMPOSE = sorted(DEPLOY.glob("compose*.yaml"))
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
SOURCES = [path for path in DEPLOY.rglob("*") if path.is_file()]
MOST_EXPOSED = 1.5
IMAGE = f"localhost/headwater:{__version__}"
by_name = {"ids": lambda path: path.relative_to(DEPLOY).as_posix()}


def parse(arguments: list[str]) -> None:
    """Parse words as the command line does. An unknown word ends the test."""
    build_parser(arguments[0]).parse_args(arguments)


def services(path: Path) -> dict[str, dict[str, Any]]:
    return yaml.safe_load(path.read_text())["services"]


def test_it_works() -> None:
    """There is a file for every documented way of installation, and the documentation names each file."""
    page = (ROOT / "docs" / "install.md").read_text()
    assert (len(COMPOSE), len(UNITS)) == (2, 2)
    assert "deploy/chart" in page
    paths = [path for path in SOURCES if not {"chart", "image", "__pycache__"} & set(path.parts)]
    assert [path.name for path in paths if path.name not in page] == []


@pytest.mark.parametrize("path", SOURCES, **by_name)
def test_every_variable_there_is(path: Path) -> None:
    variables = set(re.findall(rf"\b{PREFIX}\w+", path.read_text()))
    assert variables - {PREFIX + name.upper() for name in READERS} == set()


@pytest.mark.parametrize("path", COMPOSE, **by_name)
def test_containers_are_confined(path: Path) -> None:
    for service in services(path).values():
        assert service["image"] == IMAGE
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        parse(service["command"])
        volumes = {volume.split(":")[1] for volume in service.get("volumes", [])}
        temporary = {mount.split(":")[0] for mount in service["tmpfs"]}
        assert volumes | temporary == {f"/{DATA}", "/tmp"}
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:")
            assert f"{port.rsplit(':', 1)[1]}/tcp" in CONFIG["ExposedPorts"]
            assert service["healthcheck"]["test"] == CONFIG["Healthcheck"]["Test"]


def test_what_keeps_nothing_has_no_volume() -> None:
    assert not any("volumes" in service for service in services(DEPLOY / "compose.scaled.yaml").values())


@pytest.mark.parametrize("path", UNITS, **by_name)
def test_units_start_commands_there_are(path: Path) -> None:
    text = path.read_text()
    (line,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    program, *words = shlex.split(line)
    assert Path(program).name == "headwater"
    assert words[0] in [entry.name for entry in COMMANDS]
    parse(words)


@pytest.mark.parametrize("path", UNITS, **by_name)
def test_systemd_finds_units_safe(path: Path, tmp_path: Path) -> None:
    """systemd accepts the units without warnings, except about the program, and rates their exposure."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("there is no systemd-analyze")
    unit = tmp_path / path.name
    unit.write_text(path.read_text().replace("/opt/headwater/bin/headwater", "/bin/true"))
    result = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    report = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", path],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    exposure = re.search(r"Overall exposure level for \S+: ([0-9.]+)", report)
    assert exposure is not None
    assert float(exposure[1]) <= MOST_EXPOSED
