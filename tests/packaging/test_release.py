"""A release's files and commands: built by one script, checked step by step, and the upload commands."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from scripts import publish, release_check
from scripts.build_release import archive_deployment, hash_files, read_notes, read_project
from scripts.oci_layout import Layer, join_archives, make_digest, write_archive
from scripts.release_check import FailedError, SkippedError

from headwater import __version__

CONFIG = {"Labels": {"org.opencontainers.image.version": __version__}}


def make_image(folder: Path, architecture: str) -> tuple[Path, str]:
    path = folder / f"headwater-{__version__}-{architecture}.oci.tar"
    content = f"the files of {architecture}".encode()
    layer = Layer(content, make_digest(content))
    return path, write_archive(path, [layer], CONFIG, architecture, "2026-12-01T00:00:00Z")


@pytest.fixture
def images(tmp_path: Path) -> dict[str, str]:
    """The digests of two images, by architecture."""
    return {name: make_image(tmp_path, name)[1] for name in ("amd64", "arm64")}


def read_json(tar: tarfile.TarFile, name: str) -> Any:
    file = tar.extractfile(name)
    assert file is not None
    return json.load(file)


def test_it_works(images: dict[str, str], tmp_path: Path) -> None:
    """One name refers to the images of both architectures, with all their contents."""
    joint_archive = tmp_path / "joined.oci.tar"
    digest = join_archives(joint_archive, sorted(tmp_path.glob("*-*.oci.tar")))
    with tarfile.open(joint_archive) as tar:
        names = set(tar.getnames())
        (entry,) = read_json(tar, "index.json")["manifests"]
        assert entry["digest"] == digest
        index = read_json(tar, f"blobs/{digest.replace(':', '/')}")
        platforms = {
            manifest["platform"]["architecture"]: manifest["digest"] for manifest in index["manifests"]
        }
        assert platforms == images
        for descriptor in index["manifests"]:
            manifest = read_json(tar, f"blobs/{descriptor['digest'].replace(':', '/')}")
            parts = [manifest["config"], *manifest["layers"]]
            assert {f"blobs/{blob['digest'].replace(':', '/')}" for blob in parts} <= names
    assert digest == join_archives(tmp_path / "again.oci.tar", sorted(tmp_path.glob("*-*.oci.tar")))


def test_the_deployment_files_are_the_same_twice(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("one.tar.gz", "two.tar.gz")]
    for path in paths:
        archive_deployment(path, "headwater-deploy")
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with tarfile.open(paths[0]) as tar:
        names = tar.getnames()
    assert "headwater-deploy/compose.yaml" in names
    assert [name for name in names if "/image/" in name or "/chart/" in name] == []


def test_notes_have_links_that_work_elsewhere() -> None:
    notes = read_notes(__version__)
    assert f"]({read_project()['address']}/blob/v{__version__}/docs/api.md)" in notes
    assert "\n## " not in notes
    with pytest.raises(ValueError, match="no section"):
        read_notes("0.0.1")


@pytest.mark.usefixtures("images")
@pytest.mark.parametrize("target", publish.TARGETS)
def test_what_is_published_is_named(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    publish.main([target, str(tmp_path), "--dry-run"])
    output = capsys.readouterr().out
    assert __version__ in output
    if target == "image":
        name, digest = (tmp_path / "output").read_text().splitlines()
        assert name == f"name={read_project()['image']}"
        assert digest.startswith("digest=sha256:")


def test_steps_say_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path) -> str:
        raise FailedError("it is wrong")

    def skip(_: Path) -> str:
        raise SkippedError("no such program")

    steps = {"one": lambda _: "fine", "two": skip, "three": fail}
    monkeypatch.setattr(release_check, "STEPS", steps)
    assert release_check.main(["dist"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["ok", "skipped", "failed", "failed:", "skipped:", "left"]
    assert lines[-3:] == ["failed: three", "skipped: two", "left out: nothing"]
    assert release_check.main(["dist", "--skip", "three"]) == 0


def test_a_tag_needs_a_prepared_release_and_public_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release_check, "CHANGELOG", "README.md")
    monkeypatch.setattr(release_check, "read_record", lambda _: {})
    monkeypatch.setattr(release_check, "read_project", lambda: {"address": "https://code.shop.invalid"})
    with pytest.raises(FailedError) as refusal:
        release_check.check_tag("v0.0.1")
    wrong_tag, no_date, missing_record, placeholders = str(refusal.value).splitlines()
    assert "v0.0.1 is not v" in wrong_tag
    assert "README.md has no date" in no_date
    assert "not recorded" in missing_record
    assert placeholders.endswith(": address")


def test_hashes_are_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("b", "a", "SHA256SUMS"):
        (tmp_path / name).write_text(name)
    assert [path.name for path, _ in hash_files(tmp_path)] == ["a", "b"]
