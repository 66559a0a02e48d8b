from __future__ import annotations

from pathlib import Path
from uuid import UUID

from headwater.operations.backups.archive import SUFFIX, open_archive
from headwater.operations.backups.errors import BackupError
from headwater.operations.backups.manifest import Manifest


def remove_older(folder: Path, installation_id: str, keep: int) -> list[tuple[UUID, str]]:
    """Remove all except the latest backups of an installation, recognized by their manifests, and return
    their ids and names. Raises BackupError.
    """
    own_backups: list[tuple[Manifest, Path]] = []
    for path in folder.glob(f"*{SUFFIX}"):
        try:
            with open_archive(path) as archive:
                if archive.manifest.installation_id == installation_id:
                    own_backups.append((archive.manifest, path))
        except BackupError:
            continue
    own_backups.sort(key=lambda backup: backup[0].made_at, reverse=True)
    try:
        for _, path in own_backups[keep:]:
            path.unlink()
    except OSError as error:
        raise BackupError(f"cannot remove an older backup: {error}") from None
    return [(manifest.id, path.name) for manifest, path in own_backups[keep:]]
