"""Complete the metadata of a package from the project's public address. Both packages of this repository use
this hook.
"""

# ruff: noqa: INP001 # read by the build backend

from __future__ import annotations

import posixpath
import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE_LINK = re.compile(r"(!?)(\[[^\]]*\])\((?![a-z]+:|#)([^)\s]+)\)")


class ProjectMetadataHook(MetadataHookInterface):
    """Add authors, addresses, and a README whose links work outside the repository."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Complete the metadata."""
        root, folder = Path(self.root), str(self.config.get("folder", ""))
        # In the source archive of a package, the project's file is beside it.
        places = (root / "project.toml", root.parent.parent / "project.toml")
        project = tomllib.loads(next(place for place in places if place.exists()).read_text())
        address, tag = project["address"], f"v{metadata['version']}"
        metadata["authors"] = project["authors"]
        metadata["urls"] = {
            "Homepage": address,
            "Documentation": f"{address}/blob/{tag}/{posixpath.join(folder, 'README.md')}",
            "Source": address,
            "Issues": f"{address}/issues",
            "Changelog": f"{address}/blob/{tag}/CHANGELOG.md",
        }
        text = (root / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": make_links_absolute(text, address, tag, folder),
        }


def make_links_absolute(text: str, address: str, tag: str, folder: str) -> str:
    """Return a page of a folder with absolute links to the files of a release."""

    def replace(match: re.Match[str]) -> str:
        image, label, target = match.groups()
        path = posixpath.normpath(posixpath.join(folder, target))
        return f"{image}{label}({address}/{'raw' if image else 'blob'}/{tag}/{path})"

    return RELATIVE_LINK.sub(replace, text)
