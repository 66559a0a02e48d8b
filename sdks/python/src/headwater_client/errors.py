"""What goes wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class HeadwaterError(Exception):
    """Any failure of this package."""


class ConnectionFailedError(HeadwaterError):
    """No answer came, however often it was tried. Whether the request was carried out is open."""


class ApiError(HeadwaterError):
    """An answer that refuses."""

    def __init__(self, status: int, message: str, errors: Mapping[str, Sequence[str]] | None = None) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message
        self.errors: Mapping[str, Sequence[str]] = errors or {}
        """The broken rules under each field, of a 422."""
