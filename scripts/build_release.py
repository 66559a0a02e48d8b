"""Build everything that a release publishes except the image: `python -m scripts.build_release FOLDER`.

That is wheels and source archives of the service and the Python client, the TypeScript client's package, the
WooCommerce plugin, the Helm chart, the deployment files, the bill of materials, this version's section of the
changelog, and all hashes. The same commit gives the same bytes.
"""

# ruff: noqa: INP001, T201 # a script on its own, which prints its result

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from scripts.build_plugin import build as build_plugin
from scripts.node import Node, install_packages
from scripts.oci_layout import write_tar
from scripts.prepare_release import CHANGELOG
from scripts.versions import ROOT, read_version

NODE_PACKAGES = Path(sys.prefix) / "node"
"""Where the packages that build and check the TypeScript client are installed."""
BILL = "requirements/headwater.cdx.json"
HASHES = "SHA256SUMS"


def build(folder: Path) -> None:
    """Build into an empty folder."""
    build_python(folder)
    build_typescript(folder)
    version = read_version()
    plugin = build_plugin(folder)
    plugin.rename(folder / f"{plugin.stem}-{version}.zip")
    archive_deployment(folder / f"headwater-deploy-{version}.tar.gz", f"headwater-deploy-{version}")
    archive_chart(folder / f"headwater-chart-{version}.tgz")
    shutil.copyfile(ROOT / BILL, folder / "headwater.cdx.json")
    (folder / "NOTES.md").write_text(read_notes(version))
    lines = [f"{digest}  {path.name}\n" for path, digest in hash_files(folder)]
    (folder / HASHES).write_text("".join(lines))


def build_python(folder: Path) -> None:
    """Build the wheels and source archives of the service and of the client."""
    for source in (ROOT, ROOT / "sdks" / "python"):
        command = [sys.executable, "-m", "uv", "build", "--quiet", "--no-build-isolation"]
        subprocess.run([*command, "--out-dir", folder, source], check=True)
    (folder / ".gitignore").unlink(missing_ok=True)


def build_typescript(folder: Path) -> None:
    """Pack the TypeScript client in a copy, with the compiler of the locked packages."""
    with tempfile.TemporaryDirectory() as copy:
        client = Path(copy) / "sdks" / "typescript"
        ignore_rule = shutil.ignore_patterns("node_modules", "build", "dist")
        shutil.copytree(ROOT / "sdks" / "typescript", client, ignore=ignore_rule)
        for name in ("LICENSE", "project.toml"):
            shutil.copy(ROOT / name, copy)
        node = node_packages()
        (client / "node_modules").symlink_to(node.folder / "node_modules")
        node.npm(client, "run", "pack", "--silent")
        for archive in (client / "dist").glob("*.tgz"):
            shutil.copy(archive, folder)


def node_packages() -> Node:
    """Install the locked packages into the environment, unless they are already installed."""
    NODE_PACKAGES.mkdir(exist_ok=True)
    return install_packages(NODE_PACKAGES)


def archive_deployment(target: Path, prefix: str) -> None:
    """Write the files of `deploy/` for an operator. The chart has a separate archive, and the parts of the
    image are excluded.
    """
    files = read_files(ROOT / "deploy")
    _write_archive(
        target, prefix, {name: files[name] for name in files if not name.startswith(("chart/", "image/"))}
    )


def archive_chart(target: Path) -> None:
    """Write the chart as Helm packs it, with the published image and the addresses in `project.toml`. The
    checkout's chart has the image that `make image` builds.
    """
    project, files = read_project(), read_files(ROOT / "deploy" / "chart")
    local_line, published_line = (
        b"repository: localhost/headwater\n",
        f"repository: {project['image']}\n".encode(),
    )
    if files["values.yaml"].count(local_line) != 1:
        raise ValueError("values.yaml of the chart does not name the local image once")
    files["values.yaml"] = files["values.yaml"].replace(local_line, published_line)
    origin = {"home": project["address"], "sources": [project["address"]], "maintainers": project["authors"]}
    files["Chart.yaml"] += "".join(f"{key}: {json.dumps(value)}\n" for key, value in origin.items()).encode()
    files["README.md"] = point_links(files["README.md"].decode().replace("](../../", "](")).encode()
    _write_archive(target, "headwater", files)


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the contents of the files below a folder by their path in it."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _write_archive(target: Path, prefix: str, contents: dict[str, bytes]) -> None:
    files = {f"{prefix}/{name}": content for name, content in contents.items()}
    files[f"{prefix}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain.tar"
        write_tar(plain, files)
        target.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))


def read_notes(version: str) -> str:
    """Return the changelog's section of a version, with links that work elsewhere. Raises ValueError
    without one.
    """
    pattern = rf"^## {re.escape(version)} \(.*\)\n+(.*?)(?=^## |\Z)"
    match = re.search(pattern, (ROOT / CHANGELOG).read_text(), re.MULTILINE | re.DOTALL)
    if match is None:
        raise ValueError(f"{CHANGELOG} has no section of {version}")
    return point_links(match[1])


def point_links(text: str) -> str:
    """Replace links relative to the repository's root with public addresses."""
    address = f"{read_project()['address']}/blob/v{read_version()}"
    return re.sub(r"\]\((?!https?:)", f"]({address}/", text)


def read_project() -> dict[str, Any]:
    """Return the project's public addresses and authors."""
    return tomllib.loads((ROOT / "project.toml").read_text())


def hash_files(folder: Path) -> list[tuple[Path, str]]:
    """Return every file of a folder with its SHA-256, in order of names."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != HASHES)
    return [(path, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files]


if __name__ == "__main__":
    target = Path(sys.argv[1])
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    build(target)
    print((target / HASHES).read_text(), end="")
