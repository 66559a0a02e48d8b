"""Layers and images in the format of the Open Container Initiative, with the same bytes for the same files:
sorted entries, without the builder's times and accounts.
"""

# ruff: noqa: INP001 # beside a script

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEDIA = "application/vnd.oci.image"
GZIP_LEVEL = 6


@dataclass(frozen=True)
class Layer:
    """A compressed archive of files, and its uncompressed digest."""

    blob: bytes
    diff_id: str


def make_digest(blob: bytes) -> str:
    """Return a blob's digest in the format's notation."""
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def make_layer(root: Path, paths: Iterable[str], ownership: dict[str, tuple[int, int]], epoch: int) -> Layer:
    """Return the layer of `paths` below `root`. Everything belongs to root, is readable by all and has the
    time `epoch`, except the paths in `ownership`: path → its account and group, and its mode.
    """
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(paths):
            entry = tar.gettarinfo(root / path, path)
            executable = entry.isdir() or entry.issym() or entry.mode & 0o111
            account, entry.mode = ownership.get(path, (0, 0o755 if executable else 0o644))
            entry.uid = entry.gid = account
            entry.uname = entry.gname = ""
            entry.mtime = epoch
            if entry.isfile():
                with (root / path).open("rb") as file:
                    tar.addfile(entry, file)
            else:
                tar.addfile(entry)
    plain = archive.getvalue()
    return Layer(gzip.compress(plain, GZIP_LEVEL, mtime=0), make_digest(plain))


def write_archive(
    target: Path, layers: list[Layer], config: dict[str, Any], architecture: str, created: str
) -> str:
    """Write an image as one file that `podman load`, `docker load` and skopeo read. Return its digest.
    `config` is the configuration of containers, `created` a time in ISO 8601.
    """
    image = {
        "architecture": architecture, "os": "linux", "created": created, "config": config,
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
        "history": [{"created": created, "created_by": "headwater"} for _ in layers],
    }  # fmt: skip
    blobs: dict[str, bytes] = {}

    def keep(media: str, blob: bytes) -> dict[str, Any]:
        digest = make_digest(blob)
        blobs[digest] = blob
        return {"mediaType": f"{MEDIA}.{media}", "digest": digest, "size": len(blob)}

    manifest = {
        "schemaVersion": 2, "mediaType": f"{MEDIA}.manifest.v1+json",
        "config": keep("config.v1+json", _to_json(image)),
        "layers": [keep("layer.v1.tar+gzip", layer.blob) for layer in layers],
    }  # fmt: skip
    descriptor = keep("manifest.v1+json", _to_json(manifest))
    tag = config["Labels"]["org.opencontainers.image.version"]
    index = {
        "schemaVersion": 2, "mediaType": f"{MEDIA}.index.v1+json",
        "manifests": [descriptor | {
            "platform": {"architecture": architecture, "os": "linux"},
            "annotations": {
                "io.containerd.image.name": f"localhost/headwater:{tag}",
                "org.opencontainers.image.ref.name": tag,
            },
        }],
    }  # fmt: skip
    files = {"index.json": _to_json(index), "oci-layout": b'{"imageLayoutVersion":"1.0.0"}'}
    files |= {f"blobs/{name.replace(':', '/')}": blob for name, blob in blobs.items()}
    write_tar(target, files)
    return descriptor["digest"]


def join_archives(target: Path, archives: Iterable[Path]) -> str:
    """Write images of several architectures as one file and return its digest."""
    files: dict[str, bytes] = {}
    manifests: list[dict[str, Any]] = []
    for archive in archives:
        with tarfile.open(archive) as tar:
            content = {entry.name: _read_entry(tar, entry) for entry in tar if entry.isfile()}
        manifests += json.loads(content["index.json"])["manifests"]
        files |= content
    image_annotations = manifests[0]["annotations"]
    descriptors = [
        {key: value for key, value in manifest.items() if key != "annotations"} for manifest in manifests
    ]
    index = {"schemaVersion": 2, "mediaType": f"{MEDIA}.index.v1+json"}
    blob = _to_json(index | {"manifests": descriptors})
    digest = make_digest(blob)
    entry = {
        "mediaType": f"{MEDIA}.index.v1+json",
        "digest": digest,
        "size": len(blob),
        "annotations": image_annotations,
    }
    files[f"blobs/{digest.replace(':', '/')}"] = blob
    files["index.json"] = _to_json(index | {"manifests": [entry]})
    write_tar(target, files)
    return digest


def _read_entry(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(entry)
    return file.read() if file else b""


def write_tar(target: Path, files: dict[str, bytes]) -> None:
    """Write files by name, with the same bytes each time."""
    with tarfile.open(target, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))


def _to_json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
