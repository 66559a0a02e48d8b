"""The Node harness itself: it runs scripts that import the locked packages."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.node import Node


def test_it_works(node: Node, tmp_path: Path) -> None:
    script = tmp_path / "versions.mjs"
    script.write_text(
        'import { Client } from "@modelcontextprotocol/client";\n'
        "console.log(typeof Client, process.versions.node.split('.')[0] >= 22);\n"
    )
    result = node.run(script)
    assert result.stdout == "function true\n", result.stderr
    assert node.package("mcp-remote/dist/proxy.js").exists()
