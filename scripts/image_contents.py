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
    installed_distributions = distributions(path=[str(packages)])
    bills = packages.glob("*.dist-info/sboms/*.json")
    return [
        *_debian(root / STATUS),
        *sorted(
            f"pypi {distribution.name} {distribution.version}" for distribution in installed_distributions
        ),
        *sorted({line for bill in bills for line in _read_components(bill)}),
        *sorted(f"file {path.name} - in {path.parent.name}" for path in packages.glob("*.libs/*")),
    ]


def _debian(status: Path) -> Iterator[str]:
    for path in sorted(status.iterdir()):
        control = path.read_text(encoding="utf-8").splitlines()
        fields = dict(line.split(": ", 1) for line in control if ": " in line)
        yield f"deb {fields['Package']} {fields['Version']}"


def _read_components(bill: Path) -> Iterator[str]:
    """Yield the components in a distribution's bill of materials. Headwater's own bill covers all
    distributions, each with the components inside it.
    """
    document: dict[str, Any] = json.loads(bill.read_text(encoding="utf-8"))
    for component in document.get("components", ()):
        inner_components: list[dict[str, Any]] = component.get("components", [])
        container = component["name"] if inner_components else bill.parent.parent.name.partition("-")[0]
        for library in inner_components or [component]:
            match = _PURL.match(library.get("purl", ""))
            kind = match["kind"] if match else "part"
            if kind != "pypi":
                yield f"{kind} {library['name']} {library['version']} in {container}"
