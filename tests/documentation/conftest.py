"""The documentation site, built once."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.build_site import build


@pytest.fixture(scope="session")
def site_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("documentation") / "site"
    build(folder)
    return folder
