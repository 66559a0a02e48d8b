"""Draws faults over the source and counts how many the tests notice: `make mutants`.

Each fault is tried in a copy of the tree: first with the tests that import its module or are in the folder
of its package, then with those of the packages around it and of those that import it, at most
MAX_FILES. The first that fails must pass without the fault, or nothing was noticed. Slow tests (browser,
crash, packaging, SDKs) are left out, so the share is a lower bound. A survivor needs a test, or a line with
its reason in tests/equivalent_faults.txt.
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
import time
from collections.abc import Iterator
from pathlib import Path

from scripts.mutation import Fault, draw_faults
from tests.support.distribution import MARKS

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "headwater"
EQUIVALENT = ROOT / "tests" / "equivalent_faults.txt"
LEAST_CAUGHT = 0.9
DEADLINE = 600.0
"""Seconds in which the tests of a step must end; a fault that hangs them is noticed."""
MAX_FILES = 60
"""Test files to run for a fault that the tests of its own module do not notice."""
WORKERS = ("--numprocesses", "2")
MIN_FILES_TO_SHARE = 6
"""Fewer files end sooner in one process, because every process starts a database."""
CACHE = ("-o", f"cache_dir={ROOT / '.pytest_cache'}")
"""Packages of Node are kept there, which some tests need."""
SLOW = tuple(folder for folders in MARKS.values() for folder in folders)
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


def say(what: str, fault: Fault, seconds: float = 0) -> None:
    """Print a line about a fault and how long its tests took."""
    sys.stdout.write(f"{what:10} {seconds:4.0f} s {fault.kind:12} line {fault.line:3} {fault.name}\n")
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
    began = time.monotonic()
    write(path, fault.written_into(sound))
    try:
        runs = (find_failing(copy, tests) for tests in steps(copy, fault.path) if tests)
        failing = next(filter(None, runs), [])
    except subprocess.TimeoutExpired:
        say("hangs", fault, time.monotonic() - began)
        return True
    finally:
        write(path, sound)
    is_broken = bool(failing) and bool(find_failing(copy, failing))
    result = "BROKEN" if is_broken else "noticed" if failing else "SURVIVED"
    say(result, fault, time.monotonic() - began)
    if is_broken:
        sys.stdout.write(f"{'':17}also fails without the fault: {' '.join(failing)}\n")
    return result == "noticed"


def write(path: Path, text: str) -> None:
    """Write a module with a time of change that it never had, so that no cached bytecode is taken for it."""
    path.write_text(text, encoding="utf-8")
    changed = next(_TIMES)
    os.utime(path, (changed, changed))


def steps(copy: Path, path: str) -> Iterator[list[str]]:
    """Yield the tests to run for a module, in steps, each without those of the steps before."""
    texts = {
        name: file.read_text(encoding="utf-8") for file in sorted((copy / "tests").rglob("test_*.py"))
        if not (name := file.relative_to(copy).as_posix()).startswith(SLOW)
    }  # fmt: skip
    module = "headwater." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    packages = module.split(".")[-2:0:-1]
    near = list(find_naming(texts, [module]) | find_beside(texts, packages[:1]))
    yield near
    rooms = [module.rpartition(".")[0], *rooms_importing(copy, module)]
    far = find_beside(texts, packages[1:]) | find_naming(texts, rooms)
    yield [name for name in far if name not in near][: MAX_FILES - len(near)]


def find_naming(texts: dict[str, str], modules: list[str]) -> dict[str, None]:
    """Return the test files that name a module, in the order of the modules."""
    return dict.fromkeys(
        name for module in modules if module != "headwater"
        for name, text in texts.items() if re.search(rf"\b{re.escape(module)}\b", text)
    )  # fmt: skip


def find_beside(texts: dict[str, str], folders: list[str]) -> dict[str, None]:
    """Return the test files of folders, in the order of the folders."""
    return dict.fromkeys(
        name for folder in folders for name in texts if name.startswith(f"tests/{folder}/")
    )  # fmt: skip


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


def find_failing(copy: Path, tests: list[str]) -> list[str]:
    """Return the files of the first tests that fail, or all files where no test could run; raises
    TimeoutExpired when they do not end in time.
    """
    workers = WORKERS if len(tests) >= MIN_FILES_TO_SHARE else ()
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", *CACHE, *workers, *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    ran = subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    if ran.returncode == 0:
        return []
    named = re.findall(r"^(?:FAILED|ERROR) (tests/[^: ]+)", ran.stdout, re.MULTILINE)
    return list(dict.fromkeys(named)) or tests


if __name__ == "__main__":
    sys.exit(main())
