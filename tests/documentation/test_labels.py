"""Labels of the console in the documentation: a button, tab or page has the name that it has there.

A label is text in italics with a capital, such as *Add filter*, or several with an angle between them.
"""

from __future__ import annotations

import ast
import html
import re
from functools import cache

import pytest

from tests.support.sizes import ROOT

SOURCE = ROOT / "src" / "headwater"
PAGES = (
    "alerts", "api", "attribution", "audit-log", "commands", "console", "exports", "forwarding", "ga4",
    "identity", "install", "privacy", "reports", "second-factors", "segment", "stability", "tracker",
    "tutorial", "webhooks",
)  # fmt: skip
"""The other pages also name labels of other companies."""
NO_LABELS = {
    "Needs 300 orders with a visit (you have 120)": "a message with its numbers",
    "ROAS of Meta ads is below 2 in the last 7 full days": "a rule in words",
    "Count as Meta does": "a button with the platform's name",
    "Order Updated": "an event of Segment",
    **dict.fromkeys(
        ("If an answer names several sources", "Your own phrases", "One per person", "No effect on credit",
         "Phrases", "Direct"), "emphasis",
    ),
}  # fmt: skip


@cache
def read_labels() -> set[str]:
    """Return the texts between tags of templates, and the texts of modules."""
    markup = re.compile(r'\{%.*?%\}|<[^>]*>|\{\{|\}\}|"', re.DOTALL)
    texts = [
        text for path in SOURCE.rglob("*.html") for text in markup.split(html.unescape(path.read_text()))
    ]
    for path in SOURCE.rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text()))
        values = [node.value for node in nodes if isinstance(node, ast.Constant)]
        texts += [value for value in values if isinstance(value, str)]
    return {trim(text) for text in texts}


def trim(text: str) -> str:
    return " ".join(text.split()).rstrip("….:")


def find_labels(page: str) -> list[str]:
    text = re.sub(r"```.*?```|`[^`]*`|\*\*[^*]+\*\*", "", page, flags=re.DOTALL)
    phrases = re.findall(r"(?<![*\w])\*([^*]+)\*(?![*\w])", text)
    parts = [
        trim(part)
        for phrase in phrases
        for part in phrase.split("\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}")
    ]
    return [part for part in parts if part[0].isupper() or part[0] == "+"]


@pytest.mark.parametrize("page", PAGES)
def test_every_label_is_in_the_console(page: str) -> None:
    labels = find_labels((ROOT / "docs" / f"{page}.md").read_text())
    assert [label for label in labels if label not in read_labels() and label not in NO_LABELS] == []
