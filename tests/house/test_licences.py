"""Licences: REUSE.toml states the licence of every file and the origin of data. Shipped files state their
own.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from typing import Any

import pytest

from tests.support.sizes import ROOT

LICENCE = "Apache-2.0"
TABLES: list[dict[str, Any]] = tomllib.loads((ROOT / "REUSE.toml").read_text())["annotations"]
DATA = re.compile(
    r"\.(bin|csv|dat|gif|gz|ico|jpe?g|json|mmdb|ndjson|otf|parquet|pdf|png|svg|tsv|ttf|txt|webp|woff2?|xlsx|xml|zip)$"
)
SHIPPED = {
    "pyproject.toml": rf'^license = "{LICENCE}"\nlicense-files = \["LICENSE"\]$',
    "sdks/python/pyproject.toml": rf'^license = "{LICENCE}"\nlicense-files = \["LICENSE"\]$',
    "sdks/typescript/package.json": rf'^  "license": "{LICENCE}",$',
    "integrations/woocommerce/headwater-for-woocommerce/headwater-for-woocommerce.php": (
        rf"^ \* License: +{LICENCE}$"
    ),
    "integrations/woocommerce/headwater-for-woocommerce/readme.txt": rf"^License: {LICENCE}$",
    "integrations/dbt/dbt_project.yml": rf"^# SPDX-License-Identifier: {LICENCE}$",
    "src/headwater/spaces/sites/headwater.liquid": rf"^  SPDX-License-Identifier: {LICENCE}$",
    "integrations/shopify/headwater-pixel.js": rf"^ \* SPDX-License-Identifier: {LICENCE}$",
    "src/headwater/console/static/google-tag-manager.tpl": rf"^// SPDX-License-Identifier: {LICENCE}$",
}
"""Where shipped files state their licence. Tests of the archives look for these texts."""


def list_paths(table: dict[str, Any]) -> list[str]:
    path = table["path"]
    return [path] if isinstance(path, str) else path


def compile_glob(glob: str) -> re.Pattern[str]:
    parts = {"**": ".*", "*": "[^/]*"}
    return re.compile(
        "".join(parts.get(glob_part) or re.escape(glob_part) for glob_part in re.split(r"(\*\*|\*)", glob))
    )


GLOBS = [
    (glob, compile_glob(glob), number) for number, table in enumerate(TABLES) for glob in list_paths(table)
]


def find_table(name: str) -> int:
    """Return the number of the last table that matches a file."""
    return max(number for _, pattern, number in GLOBS if pattern.fullmatch(name))


@pytest.fixture(scope="module")
def tracked_files() -> list[str]:
    result = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = [name for name in result.stdout.split("\0") if name and (ROOT / name).is_file()]
    if not names:
        pytest.skip("not a git checkout")
    return names


def test_every_file_has_a_licence_and_data_an_origin(tracked_files: list[str]) -> None:
    for table in TABLES:
        assert table["SPDX-FileCopyrightText"]
        assert table["SPDX-License-Identifier"]
    data = [name for name in tracked_files if DATA.search(name)]
    assert len(data) > 50
    assert [name for name in data if find_table(name) == 0] == []
    unused_globs = [glob for glob, pattern, _ in GLOBS if not any(map(pattern.fullmatch, tracked_files))]
    assert unused_globs == []


def test_a_file_from_others_says_so_itself(tracked_files: list[str]) -> None:
    foreign = {
        name: table["SPDX-License-Identifier"]
        for name in tracked_files
        if (table := TABLES[find_table(name)])["SPDX-License-Identifier"] != LICENCE
    }
    assert foreign == {
        "src/headwater/sources/referrers_matomo.txt": "CC0-1.0",
        "src/headwater/spaces/accounts/breached_passwords.txt": "MIT",
    }
    for name, licence in foreign.items():
        head = (ROOT / name).read_text().split("\n\n", 1)[0]
        assert re.search(r"^# Origin: \S+", head, re.MULTILINE)
        assert f"# Licence: {licence.replace('-', ' ')}" in head


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_shipped_names_its_licence(name: str) -> None:
    assert re.search(SHIPPED[name], (ROOT / name).read_text(), re.MULTILINE)


@pytest.mark.parametrize("folder", ["sdks/python", "integrations/dbt"])
def test_packages_in_folders_have_the_text(folder: str) -> None:
    assert (ROOT / folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
