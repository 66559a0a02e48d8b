"""Names of people: the full name that parts make, and the parts of a full name. Explicit parts win
over splitting the full name, because spaces alone do not tell how `Mary Ann Smith` and `Juan de la
Cruz` divide. Pure.
"""

from __future__ import annotations

Parts = tuple[str | None, str | None]
"""First and last name."""

DERIVED_PARTS: Parts = (None, None)
"""Parts that `split_name` finds by itself, and that need not be stored."""


def full_name(full: str | None, first: str | None, last: str | None) -> str | None:
    """The name in an event: the full name, or first and last together."""
    name = full or " ".join(part for part in (first, last) if part)
    return name.strip() or None


def split_name(full_name: str) -> Parts:
    """First and last name: the text before the first space, and the text after it."""
    first, _, last = " ".join(full_name.split()).partition(" ")
    return first or None, last or None


def explicit_parts(full: str | None, first: str | None, last: str | None) -> Parts | None:
    """The parts of a name that an event states: None when it states none, DERIVED_PARTS when they
    are equal to those of `split_name`. When it states one part only, the other comes from the full
    name, if there is one.
    """
    if not first and not last:
        return None
    first, last = _tidy(first), _tidy(last)
    whole = _tidy(full) or ""
    if first and not last and whole.startswith(f"{first} "):
        last = _tidy(whole.removeprefix(first))
    elif last and not first and whole.endswith(f" {last}"):
        first = _tidy(whole.removesuffix(last))
    name = full_name(full, first, last)
    return DERIVED_PARTS if name is None or (first, last) == split_name(name) else (first, last)


def _tidy(part: str | None) -> str | None:
    return " ".join(part.split()) or None if part else None
