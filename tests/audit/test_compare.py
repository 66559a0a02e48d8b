"""Changes between rows before and after, compared with a plain description."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.audit.kinds import HIDDEN_COLUMNS, HIDDEN_VALUE
from headwater.spaces.audit.subjects import compare, queries

VALUES = st.sampled_from([None, "", "a", "b", 1])
ROWS = st.dictionaries(
    st.sampled_from("123"), st.fixed_dictionaries({"name": VALUES, "secrets": VALUES}), max_size=3
)


def test_it_works() -> None:
    before = {"7": {"name": "Meta", "status": "active"}, "9": {"name": "Old", "status": "paused"}}
    after = {"7": {"name": "Meta", "status": "paused"}, "8": {"name": "TikTok", "status": "active"}}
    assert list(compare("destination", before, after)) == [
        AuditChange("destination", "7", {"status": "active"}, {"status": "paused"}),
        AuditChange("destination", "8", None, {"name": "TikTok", "status": "active"}),
        AuditChange("destination", "9", {"name": "Old", "status": "paused"}, None),
    ]


@given(ROWS, ROWS)
def test_applying_the_changes_gives_what_is_after(
    old_values: dict[str, dict[str, Any]], new_values: dict[str, dict[str, Any]]
) -> None:
    """Except secrets: a change says that they changed, but doesn't contain them."""
    rows = {key: dict(row) for key, row in old_values.items()}
    for change in compare("destination", old_values, new_values):
        key = str(change.id)
        for values in (change.before or {}, change.after or {}):
            assert values.get("secrets") in (None, "", HIDDEN_VALUE)
        if change.after is None:
            del rows[key]
            continue
        rows.setdefault(key, {}).update(change.after)
        if key in old_values:
            assert change.after.keys() == {
                name for name in old_values[key] if old_values[key][name] != new_values[key][name]
            }
    expected = {key: {**row, "secrets": row["secrets"] and HIDDEN_VALUE} for key, row in new_values.items()}
    assert {key: {**row, "secrets": row["secrets"] and HIDDEN_VALUE} for key, row in rows.items()} == expected


@pytest.mark.parametrize("kind", HIDDEN_COLUMNS)
def test_hidden_columns_exist(kind: str) -> None:
    statement = queries[kind].as_string()
    assert all(f".{column}" in statement for column in HIDDEN_COLUMNS[kind])  # type: ignore[index]
