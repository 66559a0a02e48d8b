"""Write the tables of docs/security.md from docs/asvs.csv: `python -m scripts.write_asvs`.

The table has a row for each requirement of levels 1 and 2. Rows of a chapter with the same verdict and note
become one row of the page.
"""

# ruff: noqa: INP001 # a script on its own

from __future__ import annotations

import csv
import posixpath
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "asvs.csv"
PAGE = ROOT / "docs" / "security.md"
BEGINNING = "## Result\n"
"""This script writes the page from here to its end."""
VERDICTS = ("gap", "partly", "met", "not applicable")
CHAPTERS = {
    1: "Encoding and injection",
    2: "Validation and business rules",
    3: "Browsers",
    4: "HTTP and interfaces",
    5: "Files",
    6: "Logging in",
    7: "Sessions",
    8: "Permissions",
    9: "Signed tokens",
    10: "OAuth and OpenID Connect",
    11: "Cryptography",
    12: "Connections",
    13: "Configuration",
    14: "Data",
    15: "Code and dependencies",
    16: "Logs and errors",
    17: "WebRTC",
}
SOURCE = "src/headwater/"
MIN_RANGE = 3


@dataclass(frozen=True)
class Requirement:
    id: str
    level: int
    verdict: str
    evidence: tuple[str, ...]
    note: str

    @property
    def chapter(self) -> int:
        return int(self.id[1:].partition(".")[0])

    @property
    def section(self) -> str:
        return self.id.rpartition(".")[0]


def read_requirements() -> list[Requirement]:
    with TABLE.open(newline="", encoding="utf-8") as file:
        return [
            Requirement(
                row["id"], int(row["level"]), row["verdict"], tuple(row["evidence"].split()), row["note"]
            )
            for row in csv.DictReader(file)
        ]


def write_result(requirements: Sequence[Requirement]) -> str:
    """Return the generated part of the page."""
    parts = [BEGINNING, _write_shares(requirements)]
    for chapter, rows in groupby(requirements, key=lambda each: each.chapter):
        parts.append(f"### {chapter}. {CHAPTERS[chapter]}\n\n{_write_chapter(list(rows))}")
    return "\n".join(parts)


def _write_shares(requirements: Sequence[Requirement]) -> str:
    lines = [
        "| Level | Met | Partly | Gap | Not applicable | Share met of those that apply |",
        "|---|---|---|---|---|---|",
    ]
    for name, levels in (("1", {1}), ("2 alone", {2}), ("1 and 2", {1, 2})):
        counts = Counter(requirement.verdict for requirement in requirements if requirement.level in levels)
        share = round(100 * counts["met"] / (counts.total() - counts["not applicable"]))
        numbers = (counts[verdict] for verdict in ("met", "partly", "gap", "not applicable"))
        lines.append(f"| {name} | {' | '.join(map(str, numbers))} | {share} % |")
    return "\n".join(lines) + "\n"


def _write_chapter(rows: Sequence[Requirement]) -> str:
    """Return a chapter's table, with missing requirements first."""
    groups: dict[tuple[str, str], list[int]] = {}
    for index, row in enumerate(rows):
        groups.setdefault((row.verdict, row.note), []).append(index)
    lines = ["| Requirements | Verdict | What protects, or what is missing | Evidence |", "|---|---|---|---|"]
    for (verdict, note), indexes in sorted(groups.items(), key=lambda group: VERDICTS.index(group[0][0])):
        evidence = dict.fromkeys(path for index in indexes for path in rows[index].evidence)
        cells = (_fold(rows, indexes), verdict, note, ", ".join(map(_write_path, evidence)))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _fold(rows: Sequence[Requirement], indexes: Iterable[int]) -> str:
    """Return ids, with a range for three or more consecutive ones of a section."""
    ranges: list[list[int]] = []
    for index in indexes:
        if ranges and ranges[-1][-1] == index - 1 and rows[index].section == rows[index - 1].section:
            ranges[-1].append(index)
        else:
            ranges.append([index])
    return ", ".join(_name_range([rows[index].id for index in consecutive]) for consecutive in ranges)


def _name_range(ids: Sequence[str]) -> str:
    return ", ".join(ids) if len(ids) < MIN_RANGE else f"{ids[0]} to {ids[-1]}"


def _write_path(path: str) -> str:
    file, hash_, anchor = path.partition("#")
    if file.endswith(".md"):
        target = "" if ROOT / file == PAGE else posixpath.relpath(file, "docs")
        return f"[{anchor.replace('-', ' ') or posixpath.basename(file)}]({target}{hash_}{anchor})"
    return f"`{file.removeprefix(SOURCE)}`"


def main() -> None:
    text = PAGE.read_text(encoding="utf-8").partition(BEGINNING)[0]
    PAGE.write_text(text + write_result(read_requirements()), encoding="utf-8")


if __name__ == "__main__":
    main()
