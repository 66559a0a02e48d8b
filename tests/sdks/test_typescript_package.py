"""The TypeScript client's npm package: its contents, the results of package checkers, and users' programs
with and without `import`.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest

from tests.conformance.node import Node
from tests.sdks.test_typescript_client import NODE
from tests.support.sizes import ROOT

USER = {
    "main.mts": (
        'import { Client, EventBuffer } from "headwater-client";\n'
        'const client = new Client("https://hw.example", "trk_sk_a", { retries: 1 });\n'
        "await using buffer = new EventBuffer(client);\n"
        "if (buffer.size !== 0) throw new Error('not empty');\n"
    ),
    "main.cts": (
        'import sdk = require("headwater-client");\n'
        'const client = new sdk.Client("https://hw.example", "trk_sk_a");\n'
        "if (new sdk.EventBuffer(client).size !== 0) throw new Error('not empty');\n"
    ),
}
STRICT = {
    "strict": True, "exactOptionalPropertyTypes": True, "noUncheckedIndexedAccess": True,
    "target": "es2022", "module": "nodenext", "lib": ["es2022", "esnext.disposable"], "types": [],
    "noEmit": True,
}  # fmt: skip
"""A user's settings, without the types of browsers and of Node."""


@pytest.fixture(scope="module")
def package(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packed archive."""
    root = tmp_path_factory.mktemp("package")
    folder = root / "sdks" / "typescript"
    shutil.copytree(ROOT / "sdks" / "typescript", folder)
    for name in ("LICENSE", "project.toml"):
        shutil.copy(ROOT / name, root)
    (folder / "node_modules").symlink_to(node.folder / "node_modules")
    node.npm(folder, "run", "pack", "--silent")
    (archive,) = (folder / "dist").glob("*.tgz")
    return archive


@pytest.fixture(scope="module")
def project(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's project with the package installed."""
    folder = tmp_path_factory.mktemp("project")
    with tarfile.open(package) as archive:
        archive.extractall(folder / "node_modules", filter="data")
    (folder / "node_modules" / "package").rename(folder / "node_modules" / "headwater-client")
    for name, text in USER.items():
        (folder / name).write_text(text)
    return folder


def test_it_works(package: Path) -> None:
    with tarfile.open(package) as archive:
        names = {name.removeprefix("package/") for name in archive.getnames()}
    assert {"LICENSE", "README.md", "package.json", "dist/index.js", "dist/cjs/index.js"} <= names
    assert not [name for name in names if name.startswith(("src/", "node_modules/"))]


def test_its_page_works_on_the_index(package: Path) -> None:
    """Its author and URLs come from the project's file, and every link to a file leads to one."""
    project = tomllib.loads((ROOT / "project.toml").read_text())
    with tarfile.open(package) as archive:
        manifest = json.loads(read(archive, "package.json"))
        page = read(archive, "README.md")
    assert manifest["author"] == project["authors"][0]
    assert manifest["license"] == "Apache-2.0"
    files = f"{project['address']}/blob/v{manifest['version']}/"
    paths = re.findall(re.escape(files) + r"([^)\s#\"]+)", page + manifest["homepage"])
    assert re.findall(r"\]\((?!https?://|#)[^)]*\)", page) == []
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert project["address"] in manifest["repository"]["url"]


def read(archive: tarfile.TarFile, name: str) -> str:
    content = archive.extractfile(f"package/{name}")
    assert content is not None
    return content.read().decode()


@pytest.mark.parametrize("linter", ["publint/src/cli.js", "@arethetypeswrong/cli/dist/index.js"])
def test_judges_of_packages_find_nothing(node: Node, package: Path, linter: str) -> None:
    result = node.run(node.package(linter), str(package))
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_strict_program_needs_no_other_types(node: Node, project: Path) -> None:
    (project / "tsconfig.json").write_text(json.dumps({"compilerOptions": STRICT, "files": list(USER)}))
    result = node.run(node.package("typescript/bin/tsc"), "--project", str(project))
    assert (result.returncode, result.stdout) == (0, "")


@pytest.mark.parametrize("name", USER)
def test_node_runs_it(project: Path, name: str) -> None:
    plain = (project / name).with_suffix(".mjs" if name.endswith(".mts") else ".cjs")
    plain.write_text(USER[name].replace("import sdk =", "const sdk ="))
    result = subprocess.run([NODE, plain], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
