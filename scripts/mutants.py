"""Draw faults in the source and count how many the tests detect: `make mutants`.

All tests run once, in a copy of the tree, to find out which of them reach each fault. Then each fault is
tried with these tests: first with the files whose names are nearest to its module's, at most MAX_FILES. The
first test that fails must pass without the fault, otherwise the fault counts as undetected. A survivor needs
a test, or a line with its reason in tests/equivalent_faults.txt.
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
from functools import partial
from pathlib import Path

from scripts.mutation import Fault, draw_faults
from scripts.reach import Tests, find_reaching

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "headwater"
EQUIVALENT = ROOT / "tests" / "equivalent_faults.txt"
LEAST_CAUGHT = 0.9
DEADLINE = 300.0
"""The time limit of a step's tests in seconds. A fault that makes them hang is detected."""
MAX_FILES = 60
"""The most test files that are run for a fault that the nearest ones do not detect."""
NEAR_FILES = 6
"""Up to this number, files end sooner in one process, because every process starts a database."""
WORKERS = ("--numprocesses", "2")
CACHE = ("-o", f"cache_dir={ROOT / '.pytest_cache'}")
"""It contains Node packages that some tests need."""
ALL_TESTS = (
    "pytest", "-q", "--numprocesses", "auto", "--dist", "loadfile", "--no-loadscope-reorder",
    "--show-capture=no", "--tb=no", "-r", "N", *CACHE,
)  # fmt: skip
SPARED = ("__main__.py", "demo/")
"""Modules that only display output and make no decisions."""
_TIMES = itertools.count(1)


def main(arguments: list[str] | None = None) -> int:
    """Try the faults. Return 1 when too few are detected."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="only print the faults")
    options = parser.parse_args(arguments)
    faults = draw_faults(read_sources(), options.count, options.seed)
    reasons = read_reasons(EQUIVALENT.read_text() if EQUIVALENT.exists() else "")
    counted_faults = [fault for fault in faults if fault.name not in reasons]
    for fault in faults:
        if options.list or fault.name in reasons:
            print_outcome("equivalent" if fault.name in reasons else "drawn", fault)
    if options.list:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        copy = copy_tree(Path(folder))
        tests_by_fault = find_reaching(copy, counted_faults, ALL_TESTS)
        caught = sum(map(partial(try_fault, copy), counted_faults, tests_by_fault))
    share = caught / max(1, len(counted_faults))
    sys.stdout.write(f"{caught} of {len(counted_faults)} faults noticed: {share:.0%}\n")
    return 0 if share >= LEAST_CAUGHT else 1


def print_outcome(outcome: str, fault: Fault, seconds: float = 0) -> None:
    """Print a line about a fault and how long its tests took."""
    sys.stdout.write(f"{outcome:10} {seconds:4.0f} s {fault.kind:12} line {fault.line:3} {fault.name}\n")
    sys.stdout.flush()


def read_sources() -> dict[str, str]:
    """Return the text of every module that can get a fault, by its path in the package."""
    paths = (path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
    return {
        path: (SOURCE / path).read_text(encoding="utf-8")
        for path in paths if not path.startswith(SPARED)
    }  # fmt: skip


def read_reasons(text: str) -> dict[str, str]:
    """Return the reasons why faults make no difference, by name: one `NAME # REASON` per line."""
    reasons: dict[str, str] = {}
    for line in text.splitlines():
        name, mark, reason = line.partition(" # ")
        if mark and reason.strip() and not line.startswith("#"):
            reasons[name.strip()] = reason.strip()
    return reasons


def copy_tree(folder: Path) -> Path:
    """Return a copy of the files that tests need."""
    copy = folder / "tree"
    left_out = shutil.ignore_patterns(".git", ".venv", "__pycache__", "dist", "headwater-data", ".*_cache")
    shutil.copytree(ROOT, copy, ignore=left_out, symlinks=True)
    return copy


def try_fault(copy: Path, fault: Fault, reaching: Tests) -> bool:
    """Return whether the tests that reach a fault detect it, and print the result."""
    path = copy / "src" / "headwater" / fault.path
    sound = path.read_text(encoding="utf-8")
    start = time.monotonic()
    write(path, fault.apply(sound))
    try:
        runs = (find_failing(copy, files) for files in steps(fault.path, reaching) if files)
        failing_tests = next(filter(None, runs), [])
    except subprocess.TimeoutExpired:
        print_outcome("hangs", fault, time.monotonic() - start)
        return True
    finally:
        write(path, sound)
    is_broken = bool(failing_tests) and bool(find_failing(copy, {name: [name] for name in failing_tests}))
    result = (
        "BROKEN" if is_broken else "noticed" if failing_tests else "SURVIVED" if reaching else "UNREACHED"
    )
    print_outcome(result, fault, time.monotonic() - start)
    if is_broken:
        sys.stdout.write(f"{'':17}also fails without the fault: {' '.join(failing_tests)}\n")
    return result == "noticed"


def write(path: Path, text: str) -> None:
    """Write a module with a modification time that it never had, so that no cached bytecode is used for
    it.
    """
    path.write_text(text, encoding="utf-8")
    modified_at = next(_TIMES)
    os.utime(path, (modified_at, modified_at))


def steps(path: str, files: Tests) -> Iterator[Tests]:
    """Yield the tests to run for a module, in steps: first the files whose names share most words with the
    module's path. Among equals, files with fewer tests come first.
    """
    words = set(re.findall("[a-z]+", path))
    order = sorted(
        files, key=lambda name: (-len(words.intersection(re.findall("[a-z]+", name))), len(files[name]))
    )
    for names in (order[:NEAR_FILES], order[NEAR_FILES:MAX_FILES]):
        yield {name: files[name] for name in names}


def find_failing(copy: Path, files: Tests) -> list[str]:
    """Return the files of the first tests that fail, or all files where no test could run; raises
    TimeoutExpired when they do not end in time.
    """
    workers = WORKERS if len(files) > NEAR_FILES else ()
    tests = [name for names in files.values() for name in names]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", *CACHE, *workers, *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    result = subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    if result.returncode == 0:
        return []
    failed_files = re.findall(r"^(?:FAILED|ERROR) (tests/[^: ]+)", result.stdout, re.MULTILINE)
    return list(dict.fromkeys(failed_files)) or list(files)


if __name__ == "__main__":
    sys.exit(main())
