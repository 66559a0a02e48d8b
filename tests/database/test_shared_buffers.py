"""The embedded server's buffers depend on the memory of the machine or of the container."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from headwater.database import machine_memory
from headwater.database.embedded import Embedded
from headwater.database.machine_memory import buffer_megabytes

GIGABYTE = 1024**3


def test_it_works(tmp_path: Path) -> None:
    server = Embedded(tmp_path / "data")
    try:
        with psycopg.connect(server.start({"fsync": "off"})) as connection:
            (octets,) = connection.execute(
                "SELECT pg_size_bytes(current_setting('shared_buffers'))"
            ).fetchone()
    finally:
        server.stop()
    assert octets == buffer_megabytes(machine_memory.machine_memory()) * 1024**2


@pytest.mark.parametrize(
    ("gigabytes", "megabytes"), [(0.5, 128), (2, 128), (4, 256), (8, 512), (16, 512), (512, 512)]
)
def test_a_sixteenth_within_bounds(gigabytes: float, megabytes: int) -> None:
    assert buffer_megabytes(int(gigabytes * GIGABYTE)) == megabytes


@pytest.mark.parametrize(
    ("limits", "memory"),
    [
        ([], None),
        ([str(GIGABYTE)], GIGABYTE),
        (["max"], None),
        ([str(1 << 62)], None),  # how cgroup v1 reports no limit
        (["max", str(GIGABYTE)], GIGABYTE),
    ],
    ids=["no container", "a limit", "no limit", "none of the older kind", "of the older kind"],
)
def test_of_a_container(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, limits: list[str], memory: int | None
) -> None:
    files = [tmp_path / str(number) for number in range(2)]
    for file, limit in zip(files, limits, strict=False):
        file.write_text(f"{limit}\n")
    monkeypatch.setattr(machine_memory, "CONTAINER_LIMITS", [tmp_path / "none"])
    physical = machine_memory.machine_memory()
    monkeypatch.setattr(machine_memory, "CONTAINER_LIMITS", files)
    assert machine_memory.machine_memory() == (memory or physical)
