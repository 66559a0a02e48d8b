"""The page on webhooks documents every function and limit, and its examples are correct."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from headwater.intake.webhooks.expressions import DEEPEST, LONGEST, parse
from headwater.intake.webhooks.functions import OWN_FUNCTIONS
from headwater.intake.webhooks.interpreter import MAX_STEPS
from headwater.intake.webhooks.models import MappingInput
from headwater.intake.webhooks.standard_functions import STANDARD_FUNCTIONS
from tests.house.test_docs import DOCS, section

PAGE = (DOCS / "webhooks.md").read_text()


def examples() -> list[tuple[str, Any]]:
    """Return the rows of the table of expressions, as (expression, value)."""
    rows = re.findall(r"^\| (`+) ?(.+?) ?\1 \| `(.+?)` \|", section(PAGE, "Expressions"), re.MULTILINE)
    return [(text.replace("\\|", "|"), json.loads(value)) for _, text, value in rows]


@pytest.mark.parametrize(("text", "value"), examples())
def test_it_works(text: str, value: Any) -> None:
    body = re.search(r"```json\n(.*?)```", section(PAGE, "Expressions"), re.DOTALL)
    assert body is not None
    document = MappingInput(msgspec.json.Decoder(float_hook=Decimal).decode(body[1]), {})
    assert parse(text).find(document) == value


def test_every_example_is_looked_at() -> None:
    table = section(PAGE, "Expressions").partition("|---|---|---|\n")[2].partition("\n\n")[0]
    assert len(examples()) == len(table.splitlines())


def test_every_function_of_ours() -> None:
    names = re.findall(r"^\| `(\w+)\(", section(PAGE, "Headwater's functions"), re.MULTILINE)
    assert names == list(OWN_FUNCTIONS)


def test_every_function_of_the_specification() -> None:
    text = section(PAGE, "JMESPath's functions").partition("They are strict")[0]
    assert re.findall(r"`(\w+)`", text) == list(STANDARD_FUNCTIONS)


def test_every_bound() -> None:
    numbers = re.findall(r"at most ([0-9,]+)", section(PAGE, "Bounds"))
    assert numbers == [f"{bound:,}" for bound in (LONGEST, DEEPEST, MAX_STEPS)]
