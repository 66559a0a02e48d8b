"""`make bench`: prints the whole table. `--quick` skips the largest size. With names of parts (see PARTS),
only those run. `reports listing exports --events 10000000 --data DIRECTORY` measures these parts at another
size, and reuses the Space of that size from an earlier run.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from pathlib import Path
from statistics import median

from bench import (
    assistants,
    cluster,
    cohorts,
    crowd,
    erasures,
    exports,
    forwarding,
    hits,
    ingest,
    ingest_parts,
    listing,
    pages,
    payloads,
    people,
    pipeline,
    processes,
    protocols,
    pulls,
    reload,
    reports,
    row_security,
    sources,
    spend,
    storage,
)
from bench.stage import Stage, run_stage
from headwater.base import logs

PARTS = (
    "start", "ingest", "ingest_parts", "protocols", "hits", "flow", "pipeline", "storage", "crowd",
    "processes", "listing", "people", "reports", "cohorts", "spend", "pulls", "pages", "mcp", "exports",
    "erasures", "sources", "payloads", "forwarding", "row_security", "reload", "cluster",
)  # fmt: skip


STARTS = 10
IDLE_SECONDS = 8
"""Seconds after the last start when memory is measured."""


def print_line(*cells: object) -> None:
    """Print a line of the table. A single cell is a heading."""
    if len(cells) == 1:
        print(f"\n{cells[0]}", flush=True)
    else:
        print("  " + "  ".join(f"{cell!s:>14}" for cell in cells), flush=True)


def measure_start(stage: Stage) -> None:
    """Measure start-up with existing data, and the memory of every idle process."""
    print_line(f"{STARTS} starts with existing data, and memory when idle (PSS)")
    times: list[float] = []
    for _ in range(STARTS):
        stage.stop()
        times.append(stage.start())
    print_line("ready after s", f"{median(times):.2f}", f"{min(times):.2f} to {max(times):.2f}")
    time.sleep(IDLE_SECONDS)
    memory = stage.memory()
    for role, size in {**memory, "all": sum(memory.values())}.items():
        print_line(role, f"{size:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--events", type=int, help="the size of Space for reports, listing and exports")
    parser.add_argument("--data", type=Path, help="a directory for the data, which are kept")
    arguments = parser.parse_args()
    parts = arguments.parts or PARTS
    if unknown := set(parts).difference(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    logs.configure("warning")
    print_line(f"{platform.machine()}, {os.cpu_count()} cores, shared with the database and the load")
    sizes = (100_000,) if arguments.quick else (100_000, 1_000_000)
    chosen_sizes = (arguments.events,) if arguments.events else ()
    with run_stage(arguments.data) as stage:
        runs = {
            "start": lambda: measure_start(stage),
            "ingest": lambda: ingest.measure(stage, print_line),
            "ingest_parts": lambda: ingest_parts.measure(stage, print_line),
            "protocols": lambda: protocols.measure(stage, print_line),
            "hits": lambda: hits.measure(stage, print_line),
            "flow": lambda: ingest.measure_flow(stage, print_line),
            "pipeline": lambda: pipeline.measure(stage, print_line),
            "storage": lambda: storage.measure(stage, print_line),
            "crowd": lambda: crowd.measure(stage, print_line),
            "processes": lambda: processes.measure(stage, print_line),
            "listing": lambda: listing.measure(stage, print_line, chosen_sizes or sizes),
            "mcp": lambda: assistants.measure(stage, print_line),
            "people": lambda: people.measure(stage, print_line, sizes),
            "reports": lambda: reports.measure(stage, print_line, chosen_sizes or sizes[-1:]),
            "cohorts": lambda: cohorts.measure(stage, print_line, sizes[-1:]),
            "spend": lambda: spend.measure(stage, print_line, sizes[-1:]),
            "pulls": lambda: pulls.measure(stage, print_line),
            "pages": lambda: pages.measure(stage, print_line, sizes[-1:]),
            "exports": lambda: (
                exports.measure_one_day(stage, print_line, arguments.events)
                if arguments.events
                else exports.measure(stage, print_line, sizes)
            ),
            "erasures": lambda: erasures.measure(stage, print_line, sizes[-1:]),
            "sources": lambda: sources.measure(print_line),
            "payloads": lambda: payloads.measure(print_line),
            "forwarding": lambda: forwarding.measure(stage, print_line),
            "row_security": lambda: row_security.measure(stage, print_line),
            "reload": lambda: reload.measure(print_line),
            "cluster": lambda: cluster.measure(stage, print_line),
        }
        for name in parts:
            runs[name]()


if __name__ == "__main__":
    main()
