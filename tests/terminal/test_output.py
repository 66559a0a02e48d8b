"""The output of commands: JSON for programs, aligned text for people, and no control sequences for their
terminal.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from headwater.operations.terminal.output import Output, print_note, print_output
from headwater.operations.terminal.tables import WIDTH, align, join_sections, list_values, section, wrap

MOMENT = datetime(2026, 5, 13, 11, 0, tzinfo=UTC)


def test_it_works(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": 1, "name": "Shop", "made": MOMENT}, {"id": 22, "name": None, "made": MOMENT}]
    print_output(rows, as_json=False)
    assert capsys.readouterr().out == (
        "id  name  made\n1   Shop  2026-05-13T11:00:00+00:00\n22  -     2026-05-13T11:00:00+00:00\n"
    )
    print_output(rows, as_json=True)
    (first, _) = json.loads(capsys.readouterr().out)
    assert first == {"id": 1, "name": "Shop", "made": "2026-05-13T11:00:00+00:00"}


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ([], "none\n"),
        ({"status": "removed", "id": 7}, "status  removed\nid      7\n"),
        ("A text of its own.", "A text of its own.\n"),
        ({"names": ["a", "b"], "limits": {"x": 1}}, "names   a, b\nlimits  x=1\n"),
        ({"none": []}, "none  -\n"),
    ],
)
def test_objects_and_texts(capsys: pytest.CaptureFixture[str], output: Output, text: str) -> None:
    print_output(output, as_json=False)
    assert capsys.readouterr().out == text


@pytest.mark.parametrize("name", ["\x1b[2J", "a\r\nb", "\x07", "\u202e"])
def test_a_name_cannot_drive_the_terminal(capsys: pytest.CaptureFixture[str], name: str) -> None:
    print_output([{"name": name}], as_json=False)
    print_output({"name": name}, as_json=False)
    print_output({"names": {name: [name]}}, as_json=False)
    output = capsys.readouterr().out + list_values([("name", name)])
    assert [char for char in output if not char.isprintable() and char != "\n"] == []


def test_notes_leave_standard_output_alone(capsys: pytest.CaptureFixture[str]) -> None:
    print_note("Look.")
    assert capsys.readouterr() == ("", "Look.\n")


def test_columns_that_end_at_one_edge() -> None:
    assert align([["source", "sum"], ["a", "1,000.00"]], right_columns=(1,)) == (
        "source       sum\na       1,000.00"
    )


def test_sections() -> None:
    empty, full = section("Warnings", ""), section("Sent as", list_values([("a", 1), ("bcd", 2)]))
    assert join_sections(["Title", empty, full]) == "Title\n\nSent as\n  a    1\n  bcd  2"
    assert list_values([]) == ""
    long = " ".join(["word"] * 60)
    for text in (wrap(long), list_values([("name", long)])):
        assert max(map(len, text.splitlines())) <= WIDTH
        assert text.split()[-60:] == ["word"] * 60
