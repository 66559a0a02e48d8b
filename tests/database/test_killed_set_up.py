"""Setup of the bundled server next to the remains of a killed setup."""

from __future__ import annotations

import subprocess
from pathlib import Path

from headwater.database.account import give_to_server, server_account
from headwater.database.embedded import Embedded


def test_it_works(tmp_path: Path) -> None:
    """The killed setup's initdb continues in its own directory without interfering."""
    server = Embedded(tmp_path / "data")
    server.root.mkdir(mode=0o711)
    remains = server.root / "postgresql.new-killed"
    remains.mkdir(mode=0o700)
    give_to_server(remains)
    command = [*server_account(), server.programs.path("initdb"), "-D", str(remains), "--auth=trust"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        server.create()
    assert (server.cluster / "PG_VERSION").is_file()
    server.start()
    server.stop()
