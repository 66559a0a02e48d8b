"""Find the tests that reach the positions of some faults: each position records the running test."""

# ruff: noqa: INP001 # a part of a script

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from scripts.mutation import Fault

NOTES = '''"""Notes once for every place which test passes it."""

import os
import re
import sys

_TEST = re.compile("/(tests/.*/test_[^/]*)$")
_known = set()


def find_importer():
    """Return the test file that is imported right now."""
    frame = sys._getframe()
    while frame is not None and not (found := _TEST.search(frame.f_code.co_filename)):
        frame = frame.f_back
    return f"{{found[1]}} (import)" if frame is not None else ""


def note(place):
    test = os.environ.get("PYTEST_CURRENT_TEST") or find_importer()
    if test and (place, test) not in _known:
        _known.add((place, test))
        with open({file!r}, "a", encoding="utf-8") as file:
            file.write(f"{{place}} {{test}}\\n")
'''
_CALL = "__import__('headwater.reach', fromlist=['note']).note({place})"
TESTS_RAN = (0, 1)
"""The statuses of pytest after it has run the tests, also if some failed."""
Tests = dict[str, list[str]]
"""Tests to run by their file."""
Span = tuple[int, int, str, str]
"""A text to wrap: its start, its end, and the texts before and after it."""


def find_reaching(copy: Path, faults: Sequence[Fault], command: Sequence[str]) -> list[Tests]:
    """Return the tests that reach each fault, by running all tests on a copy with recording calls at its
    positions.

    A position that a fixture or an import reaches counts for the whole file, because it may serve the file's
    other tests, too.
    """
    file = copy / "reached.txt"
    file.touch()
    package = copy / "src" / "headwater"
    sound = {fault.path: (package / fault.path).read_text(encoding="utf-8") for fault in faults}
    for path, text in sound.items():
        spans = [make_span(position, fault) for position, fault in enumerate(faults) if fault.path == path]
        (package / path).write_text(wrap_spans(text, spans), encoding="utf-8")
    (package / "reach.py").write_text(NOTES.format(file=str(file)), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    status = subprocess.run(
        [sys.executable, "-m", *command], cwd=copy, env=environment, check=False
    ).returncode
    if status not in TESTS_RAN:
        sys.exit(f"The tests could not run: pytest ended with status {status}.")
    for path, text in sound.items():
        (package / path).write_text(text, encoding="utf-8")
    (package / "reach.py").unlink()
    return read_notes(file.read_text(encoding="utf-8").splitlines(), len(faults))


def make_span(index: int, fault: Fault) -> Span:
    """Return the recording call to insert before a fault's statement or into its expression."""
    call = _CALL.format(place=index)
    if fault.is_statement:
        return fault.start, fault.end, f"{call}; ", ""
    return fault.start, fault.end, f"({call} or (", "))"


def wrap_spans(text: str, spans: Iterable[Span]) -> str:
    """Wrap spans in texts. Spans may be nested, and start or end together.

    a < b or c        the whole, and a < b within it
    ((a < b) or c)    the longer one opens first and closes last
    """
    data = text.encode()
    pieces: list[tuple[int, int, str]] = []
    for start, end, before, after in spans:
        pieces += [(start, start - end, before), (end, end - start, after)]
    output, copied_to = b"", 0
    for offset, _, insertion in sorted(pieces):
        output += data[copied_to:offset] + insertion.encode()
        copied_to = offset
    return (output + data[copied_to:]).decode()


def read_notes(lines: Iterable[str], count: int) -> list[Tests]:
    """Return the tests of each position, from lines such as `3 tests/a/test_b.py::test_c (call)`."""
    tests: list[Tests] = [{} for _ in range(count)]
    for line in lines:
        position, _, words = line.partition(" ")
        name, _, phase = words.rpartition(" ")
        file = name.partition("::")[0]
        tests[int(position)].setdefault(file, []).append(name if phase == "(call)" else file)
    return [
        {file: [file] if file in names else list(dict.fromkeys(names)) for file, names in files.items()}
        for files in tests
    ]
