"""Write the Google Tag Manager template into a clone of the repository that Google's Community Template
Gallery reads: `python scripts/write_gallery.py ../headwater-gtm "Follow Consent Mode"`. The publisher's
manual steps are in `integrations/google-tag-manager/README.md`.
"""

# ruff: noqa: INP001 # a script on its own

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "sdks" / "python"))

from hatch_build import make_links_absolute  # noqa: E402 # next to the package that it builds

FOLDER = "integrations/google-tag-manager"
TEMPLATE = ROOT / "src/headwater/console/static/google-tag-manager.tpl"
DOCUMENTATION = "docs/clients/google-tag-manager.md"
_FIRST_SECTION = "___INFO___"
_TERMS = "___TERMS_OF_SERVICE___"
_FOR_DEVELOPERS = "## Tests"
"""The README's heading that starts the part for developers."""
_VERSION = re.compile(r'^  - sha: "?[0-9a-f]{40}"?\n    changeNotes: .+\n', re.MULTILINE)


def write_files(clone: Path) -> None:
    """Write the template, the README and the licence. Keep the publisher's agreement to the terms."""
    template = clone / "template.tpl"
    agreement = template.read_text().partition(_FIRST_SECTION)[0] if template.exists() else ""
    template.write_text(agreement + TEMPLATE.read_text())
    page = (ROOT / FOLDER / "README.md").read_text().partition(_FOR_DEVELOPERS)[0].rstrip() + "\n"
    (clone / "README.md").write_text(make_links_absolute(page, _read_address(), "main", FOLDER))
    (clone / "LICENSE").write_bytes((ROOT / "LICENSE").read_bytes())


def find_problem(clone: Path) -> str:
    """Return what the publisher must do before the template can get a version, or an empty string."""
    if not (clone / "template.tpl").read_text().startswith(_TERMS):
        return (
            "Import template.tpl in Tag Manager, accept the gallery's terms of service on the Info tab and"
            " export it to the same file."
        )
    if _git(clone, "status", "--porcelain", "--", "template.tpl", "README.md", "LICENSE"):
        return "Commit template.tpl, README.md and LICENSE."
    return ""


def write_metadata(clone: Path, notes: str) -> None:
    """Add the template's last commit to the versions, newest first, unless it is there already."""
    metadata = clone / "metadata.yaml"
    former = [match[0] for match in _VERSION.finditer(metadata.read_text())] if metadata.exists() else []
    sha = _git(clone, "log", "-1", "--format=%H", "--", "template.tpl")
    if not any(sha in version for version in former):
        former.insert(0, f'  - sha: "{sha}"\n    changeNotes: {json.dumps(notes)}\n')
    address = _read_address()
    head = f'homepage: "{address}"\ndocumentation: "{address}/blob/main/{DOCUMENTATION}"\nversions:\n'
    metadata.write_text(head + "".join(former))


def _read_address() -> str:
    return str(tomllib.loads((ROOT / "project.toml").read_text())["address"])


def _git(clone: Path, *arguments: str) -> str:
    result = subprocess.run(["git", *arguments], cwd=clone, check=True, capture_output=True, text=True)
    return result.stdout.strip()


def main(arguments: list[str]) -> str:
    """Write what can be written, and return the publisher's next step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clone", type=Path, help="a clone of the gallery's repository")
    parser.add_argument("notes", help="what has changed, for users of the template")
    options = parser.parse_args(arguments)
    write_files(options.clone)
    problem = find_problem(options.clone)
    if problem:
        return f"{problem} Then run this again."
    write_metadata(options.clone, options.notes)
    return "Commit metadata.yaml and push."


if __name__ == "__main__":
    sys.stdout.write(f"{main(sys.argv[1:])}\n")
