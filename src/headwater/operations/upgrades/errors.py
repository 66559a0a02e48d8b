"""The failure of an upgrade."""

from __future__ import annotations


class UpgradeError(RuntimeError):
    """A cluster cannot be upgraded; the text says why, and what to do. It is as it was."""
