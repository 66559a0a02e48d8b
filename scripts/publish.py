"""Publish the files of `make release-check`: `python -m scripts.publish WHAT FOLDER`.

The package indexes trust the release workflow itself (trusted publishing), so none of their passwords or
tokens is stored anywhere. `--dry-run` prints the commands instead. A published version cannot be replaced.
"""

# ruff: noqa: INP001, T201 # a script on its own, which prints its commands

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from scripts.build_release import read_project
from scripts.chart_tools import CHART_TOOLS, install_chart_tools
from scripts.node import NODE, NPM
from scripts.oci_layout import join_archives
from scripts.versions import read_version

Command = Sequence[str | Path]


def publish_python(folder: Path) -> Iterable[Command]:
    """Sign the wheels and source archives, and upload them with their signatures."""
    version = read_version()
    names = (f"{name}-{version}" for name in ("headwater", "headwater_client"))
    files = [folder / f"{name}{end}" for name in names for end in ("-py3-none-any.whl", ".tar.gz")]
    yield [sys.executable, "-m", "pypi_attestations", "sign", *files]
    yield [sys.executable, "-m", "uv", "publish", "--trusted-publishing", "always", *files]


def publish_npm(folder: Path) -> Iterable[Command]:
    """Upload the TypeScript client with its provenance."""
    archive = folder / f"headwater-client-{read_version()}.tgz"
    yield [NODE, NPM, "publish", archive, "--access", "public", "--provenance"]


def publish_image(folder: Path) -> Iterable[Command]:
    """Upload the image for both architectures, and print its name for the step that signs it. The registry's
    password comes from standard input.
    """
    image, version = str(read_project()["image"]), read_version()
    joint_archive = folder / f"headwater-{version}.oci.tar"
    archives = [folder / f"headwater-{version}-{name}.oci.tar" for name in ("amd64", "arm64")]
    digest = join_archives(joint_archive, archives)
    actor = os.environ.get("GITHUB_ACTOR", "")
    yield ["docker", "login", image.partition("/")[0], "--username", actor, "--password-stdin"]
    yield ["skopeo", "copy", "--all", f"oci-archive:{joint_archive}", f"docker://{image}:{version}"]
    if output := os.environ.get("GITHUB_OUTPUT"):
        with Path(output).open("a") as file:
            file.write(f"name={image}\ndigest={digest}\n")


def publish_chart(folder: Path) -> Iterable[Command]:
    """Upload the chart next to the image. The registry's password comes from standard input."""
    registry = str(read_project()["image"]).rpartition("/")[0]
    actor = os.environ.get("GITHUB_ACTOR", "")
    helm = install_chart_tools(CHART_TOOLS).helm
    yield [helm, "registry", "login", registry.partition("/")[0], "--username", actor, "--password-stdin"]
    yield [helm, "push", folder / f"headwater-chart-{read_version()}.tgz", f"oci://{registry}/charts"]


def publish_release(folder: Path) -> Iterable[Command]:
    """Publish the files with the version's notes, under its tag."""
    tag = f"v{read_version()}"
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != "NOTES.md")
    yield ["gh", "release", "create", tag, "--verify-tag", "--title", tag,
           "--notes-file", folder / "NOTES.md", *files]  # fmt: skip


TARGETS: dict[str, Callable[[Path], Iterable[Command]]] = {
    "python": publish_python,
    "npm": publish_npm,
    "image": publish_image,
    "chart": publish_chart,
    "release": publish_release,
}


def main(arguments: Sequence[str]) -> None:
    """Run the commands of the target, or print them."""
    parser = argparse.ArgumentParser(description="Publish a release.")
    parser.add_argument("what", choices=TARGETS)
    parser.add_argument("folder", type=lambda text: Path(text).resolve())
    parser.add_argument("--dry-run", action="store_true", help="print the commands only")
    options = parser.parse_args(arguments)
    for command in TARGETS[options.what](options.folder):
        print(shlex.join(map(str, command)), flush=True)
        if not options.dry_run:
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
