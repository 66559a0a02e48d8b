"""`headwater restore`: an installation from a backup, without those erased since it was made."""

from __future__ import annotations

from argparse import Namespace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from headwater.backups import journal
from headwater.backups.archive import Archive, open_archive
from headwater.backups.restoration import Progress, Restored, restore_embedded, restore_external
from headwater.cli.backups import explain_failures, progress_bar
from headwater.files import keep_private
from headwater.privacy.erasures import PastErasure
from headwater.settings import Settings
from headwater.spaces.secret_key import key_file
from headwater.terminal.command import Command, Option
from headwater.terminal.failure import Failure
from headwater.terminal.options import JSON
from headwater.terminal.output import print_note, print_output
from headwater.terminal.tables import to_text


def restore(settings: Settings, arguments: Namespace) -> int:
    """Restore a backup into a new data directory or an empty database. Returns 1 when erasures are
    left that the worker has to try again.
    """
    keep_private()
    with explain_failures(settings), open_archive(Path(arguments.file)) as archive:
        erasures, until = _read_erasures(arguments, archive)
        with progress_bar(archive.manifest.dump.bytes) as bar:
            restored = _restore(settings, archive, erasures, partial(bar, word="restored"))
        key = _find_key(settings, archive)
    print_output(_describe(archive, restored, until, key), as_json=arguments.json)
    for note in _notes(settings, archive, restored, until, key):
        print_note(note)
    return 1 if restored.waiting else 0


def _restore(
    settings: Settings, archive: Archive, erasures: list[PastErasure], progress: Progress
) -> Restored:
    if settings.database_url is not None:
        return restore_external(settings.database_url, archive, erasures, progress)
    return restore_embedded(settings.data_dir, archive, erasures, progress)


def _read_erasures(
    arguments: Namespace, archive: Archive
) -> tuple[list[PastErasure], datetime | None]:
    """The erasures in the journal, and the moment up to which it is complete. Raises Failure."""
    if arguments.without_erasures:
        return [], None
    path = Path(arguments.erasures or archive.path.with_name(journal.NAME))
    if not path.exists():
        raise Failure(
            f"there is no journal of erasures {path}: people who have been erased since"
            f" {to_text(archive.manifest.made_at)} would come back. Name it with --erasures, or say"
            " --without-erasures if that is meant"
        )
    content = journal.read(path)
    if content.installation_id != archive.manifest.installation_id:
        raise Failure(f"{path} is the journal of another installation than {archive.path}")
    return content.erasures, content.complete_until


def _find_key(settings: Settings, archive: Archive) -> str:
    """The place of the restored installation's secret key, in a word."""
    if settings.secret_key is not None:
        return "HEADWATER_SECRET_KEY"
    if archive.manifest.has_secret_key:
        return "restored"
    return "missing" if not key_file(settings.data_dir).exists() else "in the data directory"


def _describe(
    archive: Archive, restored: Restored, until: datetime | None, key: str
) -> dict[str, Any]:
    manifest = archive.manifest
    return {
        "file": str(archive.path), "made_at": manifest.made_at, "rows": manifest.rows,
        "tables": len(manifest.tables), "migrated": restored.migrated,
        "erased_again": restored.erased, "erasures_waiting": restored.waiting,
        "erasures_complete_until": until, "secret_key": key,
    }  # fmt: skip


def _notes(
    settings: Settings, archive: Archive, restored: Restored, until: datetime | None, key: str
) -> list[str]:
    """Sentences on what is left to do."""
    notes: list[str] = []
    if until is None:
        notes.append(
            "No erasures were carried out again: ask again for every one since"
            f" {to_text(archive.manifest.made_at)}."
        )
    else:
        notes.append(
            f"The journal of erasures was last known to be complete at {to_text(until)}: ask again"
            " for those requested after it, unless they are in it."
        )
    if restored.waiting:
        notes.append(
            f"{restored.waiting} erasures failed. The worker tries them again: see `headwater"
            " contact erasures`."
        )
    if key == "missing":
        sealed = restored.sealed
        notes.append(
            f"The secret key is missing. Copy it to {key_file(settings.data_dir)}, or set"
            " HEADWATER_SECRET_KEY: nothing starts without one. If it is lost, another one of at"
            " least 32 characters does; then links and cursors end, and these have to be given"
            f" anew: the tokens of {sealed.destinations} destinations, the signing secrets of"
            f" {sealed.webhooks} webhooks and of {sealed.sites} sites."
        )
    return notes


command = Command(
    restore,
    Option("file", metavar="FILE", help="a backup; --data-dir is the new directory"),
    Option("--erasures", metavar="J", help="the journal of erasures (the one beside FILE)"),
    Option("--without-erasures", action="store_true", help="go on without: erased people return"),
    JSON,
)
