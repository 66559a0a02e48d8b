"""The oldest PostgreSQL that is supported: the package of ours brings it along."""

from __future__ import annotations

from headwater.database.programs import Programs, own_folder

OLDEST = Programs(own_folder(16), 16)
