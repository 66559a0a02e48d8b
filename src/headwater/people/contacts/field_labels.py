"""Names under which the custom profile fields appear in answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from headwater.spaces.custom_fields import SLOT_NAMES


def field_names(labels: Mapping[str, str], taken: Collection[str] = ()) -> dict[str, str]:
    """Each profile field's column and its label, or the column's own name where there is no label
    or the label would make two members of an object the same: it is another field's label or
    column, or one of `taken`.
    """
    times = Counter(labels.values())
    spoken_for = {*SLOT_NAMES, *taken}

    def name(column: str) -> str:
        label = labels.get(column, column)
        return column if label in spoken_for or times[label] > 1 else label

    return {column: name(column) for column in SLOT_NAMES}
