from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from msgspec import Struct

from headwater.intake.imports.formats.columns import Columns, read_choices
from headwater.intake.imports.formats.dialects import Dialect
from headwater.intake.imports.formats.notation import Notation
from headwater.intake.imports.kinds import KINDS
from headwater.intake.imports.spend import AS_OF


@dataclass(frozen=True)
class Reading:
    """The chosen settings for reading an uploaded table."""

    columns: Mapping[str, str]
    """The field of each column; empty to ignore it."""
    constants: Mapping[str, str] = field(default_factory=dict[str, str])
    """Fields with the same value in every row."""
    timezone: str = "UTC"
    decimals: str = "plain"
    dates: str = "iso"

    def build_columns(self, kind: str) -> Columns:
        return read_choices(KINDS[kind].fields, self.columns, self.constants, maps_all=KINDS[kind].maps_all)

    @property
    def zone(self) -> ZoneInfo:
        """The zone of times without an offset."""
        return ZoneInfo(self.timezone)

    @property
    def notation(self) -> Notation:
        return Notation(self.decimals, self.dates)

    def stored(self) -> dict[str, Any]:
        return asdict(self)


class UploadedFile(Struct, frozen=True, kw_only=True):
    """The file of an import, and how to decode it."""

    id: int
    kind: str
    """A key of KINDS."""
    created_at: datetime
    bytes: int
    encoding: str
    delimiter: str
    lines_before: int

    @property
    def dialect(self) -> Dialect:
        return Dialect(self.encoding, self.delimiter, self.lines_before)

    @property
    def defaults(self) -> Mapping[str, str]:
        """Return default values of rows. For spend: the report's time."""
        return {AS_OF: self.created_at.isoformat()} if AS_OF in KINDS[self.kind].fields else {}


class ImportJob(UploadedFile, frozen=True, kw_only=True):
    name: str
    """The user's name for the file."""
    status: str
    """uploading, uploaded, checking, checked, queued, running, finished, failed or cancelled."""
    digest: bytes | None
    reading: dict[str, Any] | None
    again: bool
    bytes_done: int
    rows_done: int
    taken: int
    refused: int
    error: str | None
    file: str | None
    """The name in the object store, while the file exists."""
    ended_at: datetime | None
    sources: dict[str, int]
    """Taken rows by source, for kinds that have one; empty for an unknown source."""

    @property
    def without_source(self) -> int:
        return self.sources.get("", 0)

    @property
    def known_sources(self) -> dict[str, int]:
        """Return the numbers of rows by source, the most frequent first."""
        known_pairs = (pair for pair in self.sources.items() if pair[0])
        return dict(sorted(known_pairs, key=lambda pair: (-pair[1], pair[0])))

    @property
    def stored(self) -> int:
        """Return the number of stored rows; a check stores none."""
        return 0 if self.status in ("uploaded", "checking", "checked") else self.taken

    @property
    def is_at_work(self) -> bool:
        return self.status in ("checking", "queued", "running")


class ClaimedImport(UploadedFile, frozen=True, kw_only=True):
    """An import leased by this process."""

    space_id: int
    lease: UUID
    file: str
    digest: bytes
    reading: dict[str, Any]
    status: str
    attempts: int

    @property
    def is_check(self) -> bool:
        return self.status == "checking"


class RefusedRow(Struct, frozen=True):
    row: int
    line: int
    reason: str
    cells: dict[str, str]
    """By column."""
