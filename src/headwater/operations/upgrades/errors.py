from __future__ import annotations


class UpgradeError(RuntimeError):
    """A cluster cannot be upgraded, and is unchanged; the text gives the reason and advice."""
