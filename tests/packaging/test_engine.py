"""The compose file and the chart's pods, started by an engine: podman with temporary storage, and
podman-compose.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from scripts.chart_tools import EXAMPLES

from headwater import __version__
from tests.packaging.test_chart import CHART, find_tools
from tests.packaging.test_image import build_archive
from tests.packaging.test_wheel import send_purchase
from tests.support.processes import environment
from tests.support.sizes import ROOT
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(
    os.environ.get("HEADWATER_TEST_ENGINE") != "required",
    reason="builds the image and starts it with podman, as root; HEADWATER_TEST_ENGINE=required",
)
COMPOSE = ROOT / "deploy" / "compose.yaml"
START_SECONDS = 120


@dataclass(frozen=True)
class Engine:
    """Podman, and the folder of its images and containers."""

    folder: Path

    @property
    def program(self) -> Path:
        """The program that runs podman with this storage."""
        return self.folder / "podman"

    def run(self, *arguments: str) -> str:
        """Run podman and return its output."""
        return self._end(str(self.program), *arguments)

    def compose(self, file: Path, *arguments: str) -> str:
        """Run podman-compose and return its output."""
        return self._end("podman-compose", "--podman-path", str(self.program), "-f", str(file), *arguments)

    def _end(self, *command: str) -> str:
        result = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=START_SECONDS,
            env=environment(XDG_RUNTIME_DIR=str(self.folder)),
        )  # fmt: skip
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("engine")
    limits = folder / "containers.conf"
    limits.write_text('[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n')
    engine = Engine(folder)
    engine.program.write_text(
        f"#!/bin/sh\nCONTAINERS_CONF={limits} exec {shutil.which('podman')} --root {folder}/root"
        f" --runroot {folder}/run --storage-driver vfs --cgroup-manager cgroupfs --runtime runc"
        ' "$@"\n'
    )
    engine.program.chmod(0o755)
    engine.run("load", "--input", str(build_archive(folder / "image")))
    yield engine
    shutil.rmtree(folder, ignore_errors=True)


def test_the_image_has_its_name(engine: Engine) -> None:
    assert f"localhost/headwater:{__version__}" in engine.run("images", "--format", "{{.Names}}")


def test_it_works(engine: Engine, tmp_path: Path) -> None:
    """It becomes ready, accepts an event, and still has it after its containers were recreated."""
    file, port = tmp_path / "hw" / "compose.yaml", 8459
    file.parent.mkdir()
    text = COMPOSE.read_text()
    assert "127.0.0.1:8080:8080" in text
    file.write_text(text.replace("127.0.0.1:8080:8080", f"127.0.0.1:{port}:8080"))
    url, name = f"http://127.0.0.1:{port}", "hw_headwater_1"
    keys: list[str] = []
    try:
        for _ in range(2):
            engine.compose(file, "up", "--detach")
            wait_until(lambda: is_ready(url), START_SECONDS)
            keys = keys or [make_key(engine, name)]
            assert send_purchase(url, keys[0]) == 202
            engine.compose(file, "down")
    finally:
        engine.compose(file, "down", "--volumes")


def test_the_pods_of_the_chart_work(engine: Engine, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The pod of `single` accepts an event, and the backup pod writes one to the other volume."""
    resources = find_tools(request.config).render(CHART, EXAMPLES["single"])
    objects = {resource["kind"]: resource for resource in resources}
    port = 8460
    single = make_pod(objects["StatefulSet"]["spec"]["template"], "headwater-0")
    single["spec"]["containers"][0]["ports"][0] |= {"hostPort": port, "hostIP": "127.0.0.1"}
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data-headwater-0"}}
    single["spec"]["volumes"].append(claim)
    backup = make_pod(objects["CronJob"]["spec"]["jobTemplate"]["spec"]["template"], "nightly")
    url = f"http://127.0.0.1:{port}"
    try:
        play(engine, single, tmp_path)
        wait_until(lambda: is_ready(url), START_SECONDS)
        assert send_purchase(url, make_key(engine, "headwater-0-headwater")) == 202
        play(engine, backup, tmp_path)
        assert engine.run("wait", "nightly-backup").strip() == "0"
        backup_folder = Path(
            engine.run("volume", "inspect", "backups", "--format", "{{.Mountpoint}}").strip()
        )
        assert [path.suffix for path in backup_folder.iterdir() if "headwater" in path.name] == [".zip"]
    finally:
        engine.run("pod", "rm", "--all", "--force")
        engine.run("volume", "prune", "--force")


def make_pod(template: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a template's pod without probes: podman runs probes with programs that the image doesn't
    have.
    """
    pod = template | {"apiVersion": "v1", "kind": "Pod", "metadata": template["metadata"] | {"name": name}}
    for container in pod["spec"]["containers"]:
        for field in ("startupProbe", "readinessProbe", "livenessProbe", "lifecycle"):
            container.pop(field, None)
    return pod


def play(engine: Engine, pod: dict[str, Any], folder: Path) -> None:
    file = folder / f"{pod['metadata']['name']}.yaml"
    file.write_text(yaml.safe_dump(pod))
    engine.run("kube", "play", str(file))


def is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def make_key(engine: Engine, name: str) -> str:
    space = engine.run("exec", name, "headwater", "space", "create", "--name", "S", "--json")
    number = str(json.loads(space)["id"])
    key = engine.run("exec", name, "headwater", "key", "create", "--name", "k", "--json",
                     "--space", number)  # fmt: skip
    (secret,) = re.findall(r'"key": "(\S+)"', key)
    return secret
