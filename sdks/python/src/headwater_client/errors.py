"""Errors of this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class HeadwaterError(Exception):
    """Any error of this package."""


class ConnectionFailedError(HeadwaterError):
    """No response after all attempts, or none in time. The request may or may not have been processed."""


class ApiError(HeadwaterError):
    """An error response."""

    def __init__(
        self,
        status: int,
        message: str,
        errors: Mapping[str, Sequence[str]] | None = None,
        retry_after: float = 0.0,
    ) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message
        self.errors: Mapping[str, Sequence[str]] = errors or {}
        """Errors by field of a 422."""
        self.retry_after = retry_after
        """The requested pause before another attempt, in seconds."""
