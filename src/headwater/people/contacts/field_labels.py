from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from headwater.spaces.custom_fields import SLOT_NAMES


def field_names(labels: Mapping[str, str], reserved: Collection[str] = ()) -> dict[str, str]:
    """Return columns' names: the label, or the column itself if the label is missing or not unique."""
    times = Counter(labels.values())
    unavailable = {*SLOT_NAMES, *reserved}

    def name(column: str) -> str:
        label = labels.get(column, column)
        return column if label in unavailable or times[label] > 1 else label

    return {column: name(column) for column in SLOT_NAMES}
