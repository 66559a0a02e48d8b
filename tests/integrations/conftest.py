"""A real WordPress on SQLite, for the long form of the plugin's tests."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import tarfile
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.conformance.node import Node

BUILDS = "@wp-playground/wordpress-builds@0.9.19"
BUILDS_HASH = (
    "sha512-dlqvh/MJDpE5W68vgPPKUjpip6zMuBh59L3D18ZX+pdwurC4q4ydrTww/3sTMV69BBcoH6kF93YtAtujNC5Mpw=="
)
WORDPRESS = "package/src/wordpress/wp-6.5.zip"
SQLITE = "package/src/sqlite-database-integration/sqlite-database-integration.zip"
CONFIGURATION = """<?php
define( 'WP_HOME', 'https://shop.example/store' );
define( 'WP_SITEURL', 'https://shop.example/store' );
define( 'WP_HTTP_BLOCK_EXTERNAL', true );
define( 'WP_ACCESSIBLE_HOSTS', '127.0.0.1' );
define( 'DISABLE_WP_CRON', true );
define( 'WP_DEBUG', true );
define( 'WP_DEBUG_LOG', __DIR__ . '/debug.log' );
define( 'WP_DEBUG_DISPLAY', false );
define( 'DB_NAME', 'shop' );
$table_prefix = 'wp_';
require_once __DIR__ . '/wp-settings.php';
"""


@pytest.fixture(scope="session")
def wordpress(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a WordPress with an installed database."""
    if "pdo_sqlite" not in subprocess.check_output(["php", "-m"], text=True):
        pytest.fail("PHP has no SQLite: install it (Debian: apt-get install php-sqlite3)")
    folder = tmp_path_factory.mktemp("wordpress")
    package = node.download(BUILDS, folder)
    digest = base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()
    assert f"sha512-{digest}" == BUILDS_HASH
    site = folder / "site"
    plugins = site / "wp-content" / "plugins"
    with tarfile.open(package) as archive:
        _unzip(archive, WORDPRESS, site)
        _unzip(archive, SQLITE, plugins)
    package.unlink()
    (sqlite,) = plugins.glob("sqlite-database-integration*")
    sqlite = sqlite.rename(plugins / "sqlite-database-integration")
    shutil.copy(sqlite / "db.copy", site / "wp-content" / "db.php")
    (site / "wp-config.php").write_text(CONFIGURATION)
    return site


def _unzip(archive: tarfile.TarFile, name: str, folder: Path) -> None:
    member = archive.extractfile(name)
    assert member is not None
    with ZipFile(BytesIO(member.read())) as inner:
        inner.extractall(folder)
