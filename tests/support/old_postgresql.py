"""Other versions of PostgreSQL: the oldest supported one, which our package includes, and the one that
HEADWATER_TEST_POSTGRESQL names for a run.
"""

from __future__ import annotations

import os
from pathlib import Path

from headwater.database.programs import Programs, own_folder, read_version, to_major

OLDEST = Programs(own_folder(16), 16)


def find_tested() -> Programs | None:
    """Return the programs in the folder that HEADWATER_TEST_POSTGRESQL names, or of the major version it
    names, from our package. None without the variable.
    """
    choice = os.environ.get("HEADWATER_TEST_POSTGRESQL")
    if not choice:
        return None
    if choice.isdecimal():
        return Programs(own_folder(int(choice)), int(choice))
    version = read_version(Path(choice) / "postgres")
    assert version is not None, f"there is no PostgreSQL in {choice}"
    return Programs(Path(choice), to_major(version))
