"""An image's contents for vulnerability scans: Debian's packages, Python's distributions, and the compiled
components in them. Each line has kind, name, version and the containing distribution.
"""

# ruff: noqa: INP001 # a part of a script

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

STATUS = "var/lib/dpkg/status.d"
_PURL = re.compile(r"pkg:(?P<kind>\w+)/")


def list_contents(root: Path, packages: Path) -> list[str]:
    """Return the lines for an image's root with its Python distributions in `packages`."""
    installed = distributions(path=[str(packages)])
    bills = packages.glob("*.dist-info/sboms/*.json")
    return [
        *_debian(root / STATUS),
        *sorted(f"pypi {each.name} {each.version}" for each in installed),
        *sorted({line for bill in bills for line in _inside(bill)}),
        *sorted(f"file {path.name} - in {path.parent.name}" for path in packages.glob("*.libs/*")),
    ]


def _debian(status: Path) -> Iterator[str]:
    for path in sorted(status.iterdir()):
        control = path.read_text(encoding="utf-8").splitlines()
        fields = dict(line.split(": ", 1) for line in control if ": " in line)
        yield f"deb {fields['Package']} {fields['Version']}"


def _inside(bill: Path) -> Iterator[str]:
    """Yield the components in a distribution's bill of materials. Headwater's own bill covers all
    distributions, each with the components inside it.
    """
    document: dict[str, Any] = json.loads(bill.read_text(encoding="utf-8"))
    for component in document.get("components", ()):
        below: list[dict[str, Any]] = component.get("components", [])
        place = component["name"] if below else bill.parent.parent.name.partition("-")[0]
        for each in below or [component]:
            found = _PURL.match(each.get("purl", ""))
            kind = found["kind"] if found else "part"
            if kind != "pypi":
                yield f"{kind} {each['name']} {each['version']} in {place}"
