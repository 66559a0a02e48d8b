"""`headwater restore`: restore a backup, or finish PostgreSQL's own recovery, without people erased since."""

from __future__ import annotations

from argparse import Namespace
from contextlib import nullcontext
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from headwater.base.failure import Failure
from headwater.base.files import keep_private
from headwater.base.settings import Settings
from headwater.cli.service.backups import explain_failures, progress_bar
from headwater.operations.backups import journal
from headwater.operations.backups.archive import Archive, open_archive
from headwater.operations.backups.recovery import finish_recovery, recovered_server
from headwater.operations.backups.restoration import Progress, Restored, restore_embedded, restore_external
from headwater.operations.terminal.command import Command, Option
from headwater.operations.terminal.options import JSON
from headwater.operations.terminal.output import print_note, print_output
from headwater.operations.terminal.tables import to_text
from headwater.operations.terminal.values import moment
from headwater.privacy.erasures import PastErasure
from headwater.spaces.secret_key import key_file


def restore(settings: Settings, arguments: Namespace) -> int:
    """Restore a backup into a new data directory or empty database, or finish PostgreSQL's recovery. Return 1
    if the worker has to retry erasures.
    """
    keep_private()
    if arguments.recovered_to is not None:
        return _finish_recovery(settings, arguments)
    if arguments.file is None:
        raise Failure("name a backup, or say --recovered-to")
    with explain_failures(settings), open_archive(Path(arguments.file)) as archive:
        erasures, complete_until = _read_erasures(arguments, archive)
        with progress_bar(archive.manifest.dump.bytes) as bar:
            restored = _restore(settings, archive, erasures, partial(bar, word="restored"))
        key = _find_key(settings, archive)
    print_output(_describe(archive, restored, complete_until, key), as_json=arguments.json)
    for note in _notes(settings, archive, restored, complete_until, key):
        print_note(note)
    return 1 if restored.waiting else 0


def _finish_recovery(settings: Settings, arguments: Namespace) -> int:
    if arguments.file is not None:
        raise Failure("--recovered-to: the database is there already; leave FILE away")
    with explain_failures(settings):
        erasures = _read_named_journal(settings, arguments)
        url = settings.database_url
        with nullcontext(url) if url else recovered_server(settings.data_dir) as url:
            restored = finish_recovery(url, arguments.recovered_to, erasures)
    complete_until = None if erasures is None else erasures.complete_until
    result = {
        "recovered_to": arguments.recovered_to,
        "migrated": restored.migrated,
        "erased_again": restored.erased,
        "erasures_waiting": restored.waiting,
        "erasures_complete_until": complete_until,
    }
    print_output(result, as_json=arguments.json)
    for note in _notes_on_erasures(restored, arguments.recovered_to, complete_until):
        print_note(note)
    return 1 if restored.waiting else 0


def _read_named_journal(settings: Settings, arguments: Namespace) -> journal.Journal | None:
    """Return the given journal, or the one in the backup folder. Raise Failure."""
    if arguments.without_erasures:
        return None
    if arguments.erasures is not None:
        return journal.read(Path(arguments.erasures))
    if settings.backup_dir is None:
        raise Failure(
            "people who have been erased since then would come back: name the journal of erasures"
            " with --erasures, or say --without-erasures if that is meant"
        )
    return journal.read(settings.backup_dir / journal.NAME)


def _restore(
    settings: Settings, archive: Archive, erasures: list[PastErasure], progress: Progress
) -> Restored:
    if settings.database_url is not None:
        return restore_external(settings.database_url, archive, erasures, progress)
    return restore_embedded(settings.data_dir, archive, erasures, progress)


def _read_erasures(arguments: Namespace, archive: Archive) -> tuple[list[PastErasure], datetime | None]:
    """Return erasures and the end of the complete part. Raise Failure."""
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
    """Return a one-word location."""
    if settings.secret_key is not None:
        return "HEADWATER_SECRET_KEY"
    if archive.manifest.has_secret_key:
        return "restored"
    return "missing" if not key_file(settings.data_dir).exists() else "in the data directory"


def _describe(archive: Archive, restored: Restored, until: datetime | None, key: str) -> dict[str, Any]:
    manifest = archive.manifest
    return {
        "file": str(archive.path),
        "made_at": manifest.made_at,
        "rows": manifest.rows,
        "tables": len(manifest.tables),
        "migrated": restored.migrated,
        "erased_again": restored.erased,
        "erasures_waiting": restored.waiting,
        "erasures_complete_until": until,
        "secret_key": key,
    }


def _notes(
    settings: Settings, archive: Archive, restored: Restored, until: datetime | None, key: str
) -> list[str]:
    notes = _notes_on_erasures(restored, archive.manifest.made_at, until)
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


def _notes_on_erasures(restored: Restored, moment: datetime, until: datetime | None) -> list[str]:
    notes: list[str] = []
    if until is None:
        notes.append(f"No erasures were repeated: request again every one since {to_text(moment)}.")
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
    return notes


command = Command(
    restore,
    Option("file", nargs="?", metavar="FILE", help="a backup; --data-dir is the new directory"),
    Option(
        "--recovered-to",
        type=moment,
        metavar="TIME",
        help="without FILE: PostgreSQL has brought the database back to TIME",
    ),
    Option("--erasures", metavar="J", help="the journal of erasures (the one beside FILE)"),
    Option("--without-erasures", action="store_true", help="go on without: erased people return"),
    JSON,
)
