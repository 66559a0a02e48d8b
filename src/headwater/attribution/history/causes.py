"""The causes by which what was reported before is reported otherwise now."""

from __future__ import annotations

from enum import StrEnum


class ChangeCause(StrEnum):
    """A cause, as answers name it, in the order in which one change has several of them."""

    NEW_EVENTS = "new_events"
    """An event after the earlier reading."""
    LATE_EVENTS = "late_events"
    """An event of before the earlier reading that came in after it."""
    LATE_TOUCHES = "late_touches"
    """A touchpoint that came in after an event that it precedes."""
    WITHDRAWN_TOUCHES = "withdrawn_touches"
    """A page view that is no touchpoint any more, as one before it came in."""
    MERGES = "merges"
    """Two contacts turned out to be one."""
    UNMERGES = "unmerges"
    """A merge was undone."""
    EDITS = "edits"
    """An amount was changed."""
    DELETIONS = "deletions"
    """An event was deleted."""
    REPLACEMENTS = "replacements"
    """An event of a page gave way to the same one from a server."""
    CLASSIFICATION = "classification"
    """A Space's names of sources were applied to what was stored."""
    SPEND_DELETIONS = "spend_deletions"
    """Rows of the spend ledger were deleted."""
    SPEND_REPLACEMENTS = "spend_replacements"
    """A later report of a platform gave other figures for a row of the spend ledger."""
    SPEND_IMPORTS = "spend_imports"
    """A row of the spend ledger came in."""
    RATES = "rates"
    """Rates of currencies were added or changed."""
    FITS = "fits"
    """Credit goes by another fit."""
    HALF_LIFE = "half_life"
    """The Space has another half-life."""


OF_TERMS = frozenset({ChangeCause.RATES, ChangeCause.FITS, ChangeCause.HALF_LIFE})
"""Causes that change no event, but what all of them are measured by."""
OF_SPEND = (ChangeCause.SPEND_DELETIONS, ChangeCause.SPEND_REPLACEMENTS, ChangeCause.SPEND_IMPORTS)
"""Causes that change the spend ledger, in the order in which one change has several of them."""
