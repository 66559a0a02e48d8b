"""The files that state the project's version.

`src/headwater/__init__.py` has the number, and the other files cannot import it. The API document and the MCP
server have separate versions, which their specifications define.
"""

# ruff: noqa: INP001 # scripts are not a package

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "src/headwater/__init__.py"
_PLUGIN = "integrations/woocommerce/headwater-for-woocommerce"
PLACES = {
    SOURCE: r'^__version__ = "(.+)"$',
    "sdks/python/src/headwater_client/version.py": r'^__version__ = "(.+)"$',
    "sdks/typescript/package.json": r'^  "version": "(.+)",$',
    "sdks/typescript/src/client.ts": r'^export const VERSION = "(.+)";$',
    f"{_PLUGIN}/headwater-for-woocommerce.php": r"^ \* Version: +(.+)$",
    f"{_PLUGIN}/readme.txt": r"^Stable tag: (.+)$",
    "integrations/dbt/dbt_project.yml": r'^version: "(.+)"$',
    "deploy/compose.yaml": r"headwater:(\S+)$",
    "deploy/compose.scaled.yaml": r"headwater:(\S+)$",
    "deploy/chart/Chart.yaml": r'^(?:version|appVersion): "?([^"\n]+)"?$',
    "docs/install.md": r"headwater[:-](\d+\.\d+\.\d+)",
}
"""Each file and the pattern of its statements. The group is the version."""
_VERSION = re.compile(r"\d+\.\d+\.\d+")


class Statement(NamedTuple):
    file: str
    version: str


def find_statements(root: Path = ROOT) -> Iterator[Statement]:
    """Yield every statement of the version. Raises ValueError for a file without one."""
    for file, pattern in PLACES.items():
        versions = re.findall(pattern, (root / file).read_text(), re.MULTILINE)
        if not versions:
            raise ValueError(f"{file} states no version")
        yield from (Statement(file, version) for version in versions)


def read_version(root: Path = ROOT) -> str:
    """Return the project's version."""
    return next(statement.version for statement in find_statements(root) if statement.file == SOURCE)


def find_differences(root: Path = ROOT) -> list[Statement]:
    """Return the statements that differ from the project's version."""
    version = read_version(root)
    return [statement for statement in find_statements(root) if statement.version != version]


def write_version(version: str, root: Path = ROOT) -> None:
    """Write a version to every place. Raises ValueError unless it has three numbers."""
    if not _VERSION.fullmatch(version):
        raise ValueError(f"{version!r} is not a version such as 1.2.0")
    for file, pattern in PLACES.items():
        path = root / file
        places = re.compile(pattern, re.MULTILINE)
        path.write_text(places.sub(lambda match: _replace(match, version), path.read_text()))


def _replace(match: re.Match[str], version: str) -> str:
    start, end = match.start(1) - match.start(), match.end(1) - match.start()
    return match[0][:start] + version + match[0][end:]
