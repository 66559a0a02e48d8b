"""Draws faults over the source and counts how many the tests notice: `make mutants`.

Each fault is tried in a copy of the tree: first the tests that import its module, then those of its
room, then those of the rooms that import it. A survivor needs a test, or a line with its reason in
tests/equivalent_faults.txt.
"""

# ruff: noqa: INP001 # a script on its own

from __future__ import annotations

import argparse
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scripts.mutation import Fault, draw_faults

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "headwater"
EQUIVALENT = ROOT / "tests" / "equivalent_faults.txt"
LEAST_CAUGHT = 0.9
DEADLINE = 900.0
"""Seconds in which the tests of a step must end; a fault that hangs them is noticed."""
WORKERS = ("--numprocesses", "2")
SPARED = ("__main__.py", "demo/")
"""What is shown to people and decides nothing."""
_TIMES = itertools.count(1)


def main(words: list[str] | None = None) -> int:
    """Try the faults; 1 when too few are noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="only print the faults")
    options = parser.parse_args(words)
    faults = draw_faults(read_sources(), options.count, options.seed)
    reasons = read_reasons(EQUIVALENT.read_text() if EQUIVALENT.exists() else "")
    counted = [fault for fault in faults if fault.name not in reasons]
    for fault in faults:
        if options.list or fault.name in reasons:
            say("equivalent" if fault.name in reasons else "drawn", fault)
    if options.list:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        copy = copy_tree(Path(folder))
        caught = sum(try_fault(copy, fault) for fault in counted)
    share = caught / max(1, len(counted))
    sys.stdout.write(f"{caught} of {len(counted)} faults noticed: {share:.0%}\n")
    return 0 if share >= LEAST_CAUGHT else 1


def say(what: str, fault: Fault) -> None:
    """Print a line about a fault."""
    sys.stdout.write(f"{what:10} {fault.kind:12} line {fault.line:3} {fault.name}\n")
    sys.stdout.flush()


def read_sources() -> dict[str, str]:
    """Return the text of every module in which faults are drawn, by its path in the package."""
    paths = (path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
    return {
        path: (SOURCE / path).read_text(encoding="utf-8")
        for path in paths if not path.startswith(SPARED)
    }  # fmt: skip


def read_reasons(text: str) -> dict[str, str]:
    """Return why faults make no difference, by their names: `NAME # REASON` a line."""
    reasons: dict[str, str] = {}
    for line in text.splitlines():
        name, mark, reason = line.partition(" # ")
        if mark and reason.strip() and not line.startswith("#"):
            reasons[name.strip()] = reason.strip()
    return reasons


def copy_tree(folder: Path) -> Path:
    """Return a copy of what tests need."""
    copy = folder / "tree"
    left_out = shutil.ignore_patterns(".git", ".venv", "__pycache__", "dist", "headwater-data", ".*_cache")
    shutil.copytree(ROOT, copy, ignore=left_out, symlinks=True)
    return copy


def try_fault(copy: Path, fault: Fault) -> bool:
    """Return whether the tests notice a fault, and print it."""
    path = copy / "src" / "headwater" / fault.path
    sound = path.read_text(encoding="utf-8")
    write(path, fault.written_into(sound))
    try:
        noticed = any(fails(copy, tests) for tests in steps(copy, fault.path))
    finally:
        write(path, sound)
    say("noticed" if noticed else "SURVIVED", fault)
    return noticed


def write(path: Path, text: str) -> None:
    """Write a module with a time of change that it never had, so that no cached bytecode is taken for it."""
    path.write_text(text, encoding="utf-8")
    changed = next(_TIMES)
    os.utime(path, (changed, changed))


def steps(copy: Path, path: str) -> Iterator[list[str]]:
    """Yield the tests to run for a module, in steps, each without those of the steps before."""
    module = "headwater." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    room = module.rpartition(".")[0]
    folder = room.rpartition(".")[2]
    done: set[str] = set()
    for pattern in (
        rf"\b{re.escape(module)}\b",
        rf"\b{re.escape(room)}\b",
        *(rf"\b{re.escape(other)}\b" for other in rooms_importing(copy, module)),
    ):
        files = sorted(
            name for file in (copy / "tests").rglob("test_*.py")
            if (name := file.relative_to(copy).as_posix()) not in done
            and (re.search(pattern, file.read_text()) or name.startswith(f"tests/{folder}/"))
        )  # fmt: skip
        done |= set(files)
        if files:
            yield files


def rooms_importing(copy: Path, module: str) -> list[str]:
    """Return the other packages that import a module."""
    parent, _, name = module.rpartition(".")
    named = re.compile(
        rf"^from {re.escape(module)} |^from {re.escape(parent)} import .*\b{name}\b", re.MULTILINE
    )
    source = copy / "src" / "headwater"
    rooms = {
        ".".join(("headwater", *path.relative_to(source).parent.parts))
        for path in source.rglob("*.py") if named.search(path.read_text())
    }  # fmt: skip
    return sorted(rooms - {"headwater", parent})


def fails(copy: Path, tests: list[str]) -> bool:
    """Return whether some tests fail, or do not end in time."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", *WORKERS, *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    try:
        ran = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, timeout=DEADLINE, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    return ran.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
