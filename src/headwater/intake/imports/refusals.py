"""The place that refused rows of an import go to, which may also stop it: each sort has its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from psycopg import AsyncConnection

from headwater.http.errors import Errors
from headwater.intake.imports.formats.files import FileRow

Refused = Sequence[tuple[FileRow, Errors]]


class Refusals(ABC):
    """The refused rows of an import."""

    @abstractmethod
    async def resume(self, connection: AsyncConnection, rows_done: int) -> None:
        """Keep the refused ones of the first rows, and drop the others."""

    async def begin_chunk(self, connection: AsyncConnection) -> None:
        """Begin a chunk, in its transaction. Raises when the import must not go on."""
        del connection  # nothing stops one at a terminal

    def refusal_of(self, row: FileRow) -> Errors | None:
        """The reasons for refusing a row whatever its fields are, or None."""
        del row
        return None

    @abstractmethod
    async def add(self, connection: AsyncConnection, refused: Refused) -> None:
        """Keep refused rows, in the transaction of their chunk or safely before its commit."""

    @abstractmethod
    def finish(self, count: int) -> None:
        """End the import, which refused so many rows in all."""
