"""Combine and split names. Explicit parts take precedence, because `Mary Ann Smith` and `Juan de la Cruz`
split differently. Pure.
"""

from __future__ import annotations

Parts = tuple[str | None, str | None]
"""First and last name."""

DERIVED_PARTS: Parts = (None, None)
"""The parts that `split_name` would return, which need not be stored."""


def combine_names(full: str | None, first: str | None, last: str | None) -> str | None:
    name = full or " ".join(name for name in (first, last) if name)
    return name.strip() or None


def split_name(full_name: str) -> Parts:
    """Split at the first space."""
    first, _, last = " ".join(full_name.split()).partition(" ")
    return first or None, last or None


def explicit_parts(full: str | None, first: str | None, last: str | None) -> Parts | None:
    """Return the parts of a name, if any; DERIVED_PARTS if `split_name` would return them. A missing part is
    taken from the full name.
    """
    if not first and not last:
        return None
    first, last = _tidy(first), _tidy(last)
    full_name = _tidy(full) or ""
    if first and not last and full_name.startswith(f"{first} "):
        last = _tidy(full_name.removeprefix(first))
    elif last and not first and full_name.endswith(f" {last}"):
        first = _tidy(full_name.removesuffix(last))
    name = combine_names(full, first, last)
    return DERIVED_PARTS if name is None or (first, last) == split_name(name) else (first, last)


def _tidy(name: str | None) -> str | None:
    return " ".join(name.split()) or None if name else None
