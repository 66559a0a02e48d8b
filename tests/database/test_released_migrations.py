"""Released migrations never change: databases store their checksums."""

from __future__ import annotations

import pytest
from scripts.prepare_release import MIGRATIONS, RECORD, hash_migrations, read_record

from tests.support.releases import released_versions
from tests.support.sizes import ROOT

FOLDER = ROOT / MIGRATIONS


def test_it_works() -> None:
    """A change belongs in a new migration (CONTRIBUTING.md)."""
    current_hashes = dict(hash_migrations(FOLDER))
    changed_names = {
        name for name, digest in read_record(FOLDER).items() if current_hashes.get(name) != digest
    }
    assert changed_names == set(), "released: write a new migration instead"


def test_every_release_has_recorded_them() -> None:
    if not released_versions():
        pytest.skip(f"nothing is released: {RECORD} will have the migrations of the first release")
    assert "0001_schema.sql" in read_record(FOLDER)
