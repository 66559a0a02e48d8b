"""An import of an uploaded file: its row, and how its table is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from headwater.intake.imports.formats.columns import Columns, read_choices
from headwater.intake.imports.formats.dialects import Dialect
from headwater.intake.imports.formats.notation import Notation
from headwater.intake.imports.kinds import KINDS
from headwater.intake.imports.spend import AS_OF


@dataclass(frozen=True)
class Reading:
    """The way in which an uploaded table is read, as it was chosen on the page."""

    columns: Mapping[str, str]
    """The field of every column; empty for one that is left out."""
    constants: Mapping[str, str] = field(default_factory=dict[str, str])
    """Fields that are the same in every row."""
    timezone: str = "UTC"
    decimals: str = "plain"
    dates: str = "iso"

    def columns_of(self, kind: str) -> Columns:
        """The columns of a kind's import."""
        return read_choices(KINDS[kind].fields, self.columns, self.constants, maps_all=KINDS[kind].maps_all)

    @property
    def zone(self) -> ZoneInfo:
        """The zone of times without an offset."""
        return ZoneInfo(self.timezone)

    @property
    def notation(self) -> Notation:
        """The notation of amounts and times."""
        return Notation(self.decimals, self.dates)

    def stored(self) -> dict[str, Any]:
        """Itself as JSON."""
        return asdict(self)


def defaults_of(kind: str, uploaded_at: datetime) -> Mapping[str, str]:
    """Return the fields that rows of an upload have unless they have their own: of spend, the
    moment of its report.
    """
    return {AS_OF: uploaded_at.isoformat()} if AS_OF in KINDS[kind].fields else {}


@dataclass(frozen=True)
class ImportJob:
    """An import as its page presents it."""

    id: int
    kind: str
    """A key of KINDS."""
    name: str
    """The file as its owner calls it."""
    status: str
    """uploading, uploaded, checking, checked, queued, running, finished, failed or cancelled."""
    created_at: datetime
    bytes: int
    digest: bytes | None
    encoding: str
    delimiter: str
    lines_before: int
    reading: dict[str, Any] | None
    again: bool
    bytes_done: int
    rows_done: int
    taken: int
    refused: int
    error: str | None
    file: str | None
    """The file's name in the storage, as long as it is there."""
    ended_at: datetime | None

    @property
    def stored(self) -> int:
        """The rows that are stored: a check takes rows and stores none."""
        return 0 if self.status in ("uploaded", "checking", "checked") else self.taken

    @property
    def is_at_work(self) -> bool:
        """True while the worker has something to do for it."""
        return self.status in ("checking", "queued", "running")

    @property
    def dialect(self) -> Dialect:
        """The dialect of the file."""
        return Dialect(self.encoding, self.delimiter, self.lines_before)

    @property
    def defaults(self) -> Mapping[str, str]:
        """The fields of rows that have none of their own."""
        return defaults_of(self.kind, self.created_at)


@dataclass(frozen=True)
class ClaimedImport:
    """An import that this process works on, as long as its lease is its own."""

    space_id: int
    id: int
    lease: UUID
    kind: str
    file: str
    bytes: int
    digest: bytes
    encoding: str
    delimiter: str
    lines_before: int
    reading: dict[str, Any]
    status: str
    attempts: int
    created_at: datetime

    @property
    def is_check(self) -> bool:
        """True when its rows are to be checked, and none stored."""
        return self.status == "checking"


@dataclass(frozen=True)
class RefusedRow:
    """A row that was refused, as it is kept to be downloaded."""

    row: int
    line: int
    reason: str
    cells: dict[str, str]
    """By column."""
