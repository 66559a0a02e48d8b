"""Names of people: the whole name that parts make, and the parts of a whole one. What somebody
said of the parts wins over dividing the whole, as blanks do not tell `Mary Ann Smith` from `Juan de
la Cruz`. Pure.
"""

from __future__ import annotations

Parts = tuple[str | None, str | None]
"""First and last name."""

NOBODY_SAID: Parts = (None, None)


def full_name(full: str | None, first: str | None, last: str | None) -> str | None:
    """The name an event gives: the full one, or first and last together."""
    name = full or " ".join(part for part in (first, last) if part)
    return name.strip() or None


def split_name(full_name: str) -> Parts:
    """First and last name: what stands before the first space, and the rest."""
    first, _, last = " ".join(full_name.split()).partition(" ")
    return first or None, last or None


def said_parts(full: str | None, first: str | None, last: str | None) -> Parts | None:
    """The parts of a name as an event gives them: None when it gives none, NOBODY_SAID when they
    are those that the name divides into anyway. Of one part alone the full name, if there is one,
    tells the other.
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
    return NOBODY_SAID if name is None or (first, last) == split_name(name) else (first, last)


def _tidy(part: str | None) -> str | None:
    return " ".join(part.split()) or None if part else None
