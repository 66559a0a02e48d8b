"""The recipes for contributors name existing files, and few of them."""

from __future__ import annotations

import re

import pytest

from tests.support.sizes import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
MOST_FILES = {
    "A change of the schema": 3,
    "An event column": 6,
    "An ad platform": 5,
    "A webhook provider": 5,
    "A source rule": 4,
    "An API endpoint": 6,
    "A report dimension": 5,
    "A report measure": 5,
    "An attribution model": 5,
    "A page of the console": 5,
}
PLACEHOLDER = re.compile(r"<\w+>")


def recipes() -> dict[str, list[str]]:
    """Return the files of every recipe, as written."""
    sections = re.findall(
        r"^### (.*?)\n(.*?)(?=^### |\Z)", PAGE.partition("## Recipes")[2], re.MULTILINE | re.DOTALL
    )
    return {title: re.findall(r"^- `(.*?)`", text, re.MULTILINE) for title, text in sections}


def exists(pattern: str) -> bool:
    """Return whether at least one file or folder matches, with any values for the placeholders."""
    matches = ROOT.glob(PLACEHOLDER.sub("*", pattern).rstrip("/"))
    return any(match.is_dir() == pattern.endswith("/") for match in matches)


def test_every_recipe_is_short() -> None:
    assert recipes().keys() == MOST_FILES.keys()
    for title, files in recipes().items():
        assert 2 <= len(files) == len(set(files)) <= MOST_FILES[title], title


@pytest.mark.parametrize(
    ("title", "file"), [(title, file) for title, files in recipes().items() for file in files]
)
def test_every_file_is_there(title: str, file: str) -> None:
    assert exists(file), title


def test_a_file_that_is_not_there_is_missed() -> None:
    assert exists("src/headwater/<room>/<room>.sql")
    assert not exists("src/headwater/<room>/<name>.xyz")
    assert not exists("src/headwater/intake/webhooks/providers/stripe.py/")


def test_every_rule_names_what_holds_it() -> None:
    rules = PAGE.partition("## Rules")[2].partition("## Tests")[0]
    holders = re.findall(r"`((?:tests/[\w/]+\.py)|pyproject\.toml)` \|$", rules, re.MULTILINE)
    assert len(holders) >= 8
    assert [holder for holder in holders if not (ROOT / holder).is_file()] == []


def test_the_three_commands_are_there() -> None:
    targets = re.findall(r"^make (\w+) ", PAGE, re.MULTILINE)
    assert targets == ["setup", "test", "check"]
    makefile = (ROOT / "Makefile").read_text()
    assert [target for target in targets if f"\n{target}: " not in makefile] == []
