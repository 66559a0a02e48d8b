"""The prose check finds its phrases, and only in prose."""

from __future__ import annotations

import ast

import pytest

from tests.support.prose import MOST_OF, PATTERNS, READERS, Prose, Text, name_faults, names_in
from tests.support.sizes import ROOT

PLANTED = {
    "preposition + which": "the day on which it came", "', as' for 'because'": "it waits, as nothing is lost",
    "whoever, whatever": "whoever asks", "somebody, nobody": "it belongs to nobody",
    "is of, comes to": "a row is of a group", "so many": "so many rows", "told": "a page is told",
    "of late": "the rows of then", "but for": "all but one", "any more": "not used any more",
    "that which": "those of a page", "goes by": "it goes by age", "there is none": "there are none",
    "stands, lies": "the reason stands beside it", "at last": "at the latest",
}  # fmt: skip


def count_phrases(suffix: str, source: str) -> dict[str, int]:
    """Return the number of phrases found in a file, by kind of text."""
    prose = Prose()
    for text in READERS[suffix](source):
        prose.add("file", text)
    return {kind: count for kind, count in prose.phrases.items() if count}


@pytest.mark.parametrize("name", PATTERNS)
def test_it_works(name: str) -> None:
    assert PATTERNS[name].search(PLANTED[name])


def test_plain_sentences_have_no_phrase() -> None:
    prose = Prose()
    prose.add(
        "page", Text(1, "docs", "A customer of two platforms counts in both rows, and once in the total.")
    )
    assert prose.rates() == {"docs": 0, "all": 0}


def test_each_kind_of_text_is_read() -> None:
    module = (
        '"""Whoever asks."""\n# whatever it is\n'
        'fault = "ask somebody else for it"\nSQL = "SELECT whoever FROM x y"\n'
    )
    assert count_phrases(".py", module) == {"docstring": 1, "comment": 1, "message": 1}
    assert count_phrases(".md", "Whoever asks.\n\n```\nwhoever asks\n```\n\n`whoever` asks") == {"docs": 1}
    assert count_phrases(".html", "{# whoever #}<p>Whoever asks for it {{ whoever }}</p>") == {"page": 1}
    assert count_phrases(".sql", "SELECT 1; -- whoever asks") == {"comment": 1}
    assert count_phrases(".ts", "const a = 1 // whoever asks for it") == {"script": 1}


def test_names_of_variables_and_parameters_are_read() -> None:
    assert list(names_in(ast.parse("def f(at, *, of):\n    each = at.place"))) == ["at", "of", "each"]


def test_functions_named_of_are_counted_except_tests() -> None:
    helpers = "".join(f"def rows_of_{number}():\n    pass\n" for number in range(MOST_OF + 1))
    assert list(name_faults({ROOT / "a.py": ast.parse("value = 1\n" + helpers)}))
    tests = helpers.replace("def rows_", "def test_rows_")
    assert list(name_faults({ROOT / "a.py": ast.parse("value = 1\n" + tests)})) == []
