"""Freed memory is reused without system calls."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

ARRAYS = """
import resource, sys, threading
import numpy as np
from headwater.base.allocator import keep_freed_memory

remembered = []

def add_up():
    for _ in range(40):
        columns = [np.ones(100_000 * (1 + number % 3)) for number in range(12)]
        remembered.append(np.ones(1_000))
        sums = [column + 1 for column in columns]
        remembered.append(np.ones(1_000))

if sys.argv[1] == "kept":
    keep_freed_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
thread = threading.Thread(target=add_up)
thread.start()
thread.join()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
"""A program that creates and drops arrays as reports do, and prints the number of page faults."""


def count_pages(allocation: str) -> int:
    result = subprocess.run(
        [sys.executable, "-c", ARRAYS, allocation], capture_output=True, text=True, check=True
    )
    return int(result.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc's allocator")
def test_it_works() -> None:
    assert count_pages("kept") * 2 < count_pages("given back")
