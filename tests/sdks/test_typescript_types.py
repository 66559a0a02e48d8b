"""The TypeScript client, its examples and the tests' programs, as a strict compiler reads them."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.conformance.node import Node
from tests.support.sizes import ROOT

SDK = ROOT / "sdks" / "typescript"
STRICTER = {
    "strict": True, "noUnusedLocals": True, "noUnusedParameters": True, "noImplicitReturns": True,
    "noImplicitOverride": True, "noFallthroughCasesInSwitch": True,
}  # fmt: skip
"""Settings beyond the package's own."""


def check(node: Node, folder: Path, *files: Path) -> tuple[int, str]:
    """Compile files with the package's own settings and stricter ones, and return the compiler's output."""
    options = STRICTER | {
        "noEmit": True, "rootDir": "/", "types": ["node"],
        "typeRoots": [str(node.package("@types"))],
        "paths": {"headwater-client": [str(SDK / "src" / "index.ts")]},
    }  # fmt: skip
    project = folder / "tsconfig.json"
    project.write_text(
        json.dumps({
            "extends": str(SDK / "tsconfig.json"), "compilerOptions": options, "include": [],
            "files": [str(file) for file in files],
        })
    )  # fmt: skip
    result = node.run(node.package("typescript/bin/tsc"), "--project", str(project))
    return result.returncode, result.stdout


def test_it_works(node: Node, tmp_path: Path) -> None:
    page = (SDK / "README.md").read_text()
    blocks = re.findall(r"^```ts\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    example = tmp_path / "readme.mts"
    example.write_text("".join(blocks))
    programs = sorted(Path(__file__).parent.glob("*.mts"))
    assert len(programs) == 4
    assert check(node, tmp_path, *sorted((SDK / "src").glob("*.ts")), *programs, example) == (0, "")


def test_a_wrong_type_is_found(node: Node, tmp_path: Path) -> None:
    wrong_program = tmp_path / "wrong.mts"
    wrong_program.write_text(
        'import { Client } from "headwater-client";\n'
        'const client = new Client("https://hw.example", "key");\n'
        'await client.track({ event_name: "purchase", amount: true });\n'
    )
    code, output = check(node, tmp_path, wrong_program)
    assert code != 0
    assert re.search(r"wrong\.mts\(3,\d+\): error TS2322: .*boolean", output)
