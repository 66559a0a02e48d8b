from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from psycopg import AsyncConnection

from headwater.http.errors import Errors
from headwater.intake.imports.formats.files import FileRow

RefusedRows = Sequence[tuple[FileRow, Errors]]


class Refusals(ABC):
    @abstractmethod
    async def resume(self, connection: AsyncConnection, rows_done: int) -> None:
        """Keep the rows refused up to `rows_done`; drop the rest."""

    async def begin_chunk(self, connection: AsyncConnection) -> None:
        """Start a chunk, in its transaction. May raise to stop the import."""
        del connection  # nothing stops an import from a terminal

    def find_errors(self, row: FileRow) -> Errors | None:
        """Return errors that refuse a row regardless of its fields."""
        del row
        return None

    @abstractmethod
    async def add(self, connection: AsyncConnection, refused_rows: RefusedRows) -> None:
        """Keep refused rows, in the chunk's transaction or durably before its commit."""

    def finish(self, count: int) -> None:
        """End the import; `count` rows were refused in total."""
        del count
