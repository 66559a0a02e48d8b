"""The worker's job for the journal of erasures in the folder of the backups. Every erasure is written within
seconds, so it survives the loss of the database. Any worker may run it: the file itself shows what is
missing.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import structlog
from psycopg import Connection

from headwater.base.settings import Settings
from headwater.database.installation import fetch_description
from headwater.database.jobs.duties import INSTALLATION, Duty
from headwater.database.queries import fetch_row
from headwater.operations.backups import journal
from headwater.operations.backups.journal import DamagedJournalError, JournalError
from headwater.operations.backups.records import fetch_latest_folder, queries
from headwater.privacy.erasures import list_changed

LOOK_SECONDS = 5.0
MARK_SECONDS = 3600.0
"""Seconds between two marks, which show a restore how long the journal was kept."""
BEGINNING = datetime(1, 1, 2, tzinfo=UTC)
OVERLAP = timedelta(hours=1)
"""Longer than any transaction: an erasure is dated before it becomes visible."""

log = structlog.get_logger()


class JournalKeeper:
    def __init__(self, settings: Settings) -> None:
        self._folder = settings.backup_dir
        self._path: Path | None = None
        self._since = BEGINNING
        self._marked_at = -MARK_SECONDS
        self._problem = ""

    def attend(self, connection: Connection[Any], _: int) -> bool:
        """Add new erasures. A folder that cannot be written is logged as a warning, and retried."""
        path = self._find(connection)
        if path is None:
            return False
        if path != self._path:
            self._path, self._since = path, BEGINNING
            self._marked_at = -MARK_SECONDS
        try:
            self._keep(connection, path)
        except JournalError as error:
            self._since = BEGINNING
            if str(error) != self._problem:
                log.warning("erasures not journaled", reason=str(error))
            self._problem = str(error)
        else:
            self._problem = ""
        return False

    def _find(self, connection: Connection[Any]) -> Path | None:
        """Return the journal to keep, in the folder from the settings, or in the latest backup's if it has
        one already: that folder may be on another machine.
        """
        if self._folder is not None:
            return self._folder.absolute() / journal.NAME
        folder = fetch_latest_folder(connection)
        path = folder / journal.NAME if folder is not None else None
        return path if path is not None and path.exists() else None

    def _keep(self, connection: Connection[Any], path: Path) -> None:
        if not path.exists():
            self._since = BEGINNING  # the journal was moved, or is new
        marks = time.monotonic() - self._marked_at >= MARK_SECONDS
        until = refresh(connection, path, self._since, marks=marks)
        self._since = until - OVERLAP
        if marks:
            self._marked_at = time.monotonic()


def refresh(
    connection: Connection[Any], path: Path, since: datetime = BEGINNING, *, marks: bool = True
) -> datetime:
    """Append the missing erasures since a moment, optionally with a mark, and return the time of
    completeness. A damaged journal is set aside and rebuilt. Raises JournalError.
    """
    row = fetch_row(connection, queries["now"])
    until: datetime = row[0]
    erasures = list_changed(connection, since)
    if erasures or marks or not path.exists():
        name = str(fetch_description(connection)["id"])
        mark = until if marks else None
        try:
            journal.append(path, name, erasures, mark)
        except DamagedJournalError:
            damaged_path = journal.set_aside(path, datetime.now(UTC), name)
            log.warning("journal of erasures damaged", put_aside=damaged_path.name)
            journal.append(path, name, list_changed(connection, BEGINNING), mark)
    return until


def make_journal_duty(settings: Settings) -> Duty:
    keeper = JournalKeeper(settings)
    return Duty(lambda _: [INSTALLATION], keeper.attend, pause_seconds=LOOK_SECONDS)
