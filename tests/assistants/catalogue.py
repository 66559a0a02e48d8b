"""The questions in questions/*.toml.

    id       its name
    asks     the question, in a marketer's words
    kind     its subject; the kind of a misleading question begins with `trap`
    calls    the tools that answer it, at most three, each with its arguments
    reads    where in the answers the figure is (paths.py)
    right    a function of right_answers.py that returns the right answer; without it, the model does
    refused  words in the refusal of the last call, because the wanted thing doesn't exist
    must     what a right answer says, for a reader who judges the words
    needs    abilities that the server must have for it

The right answers are stored in answers.json, by `python -m tests.assistants --record`.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.assistants import paths
from tests.assistants.model_answers import BY_TOOL
from tests.assistants.right_answers import RIGHT
from tests.assistants.shop import Shop
from tests.support.report_model.facts import Facts

FOLDER = Path(__file__).parent
ANSWERS = FOLDER / "answers.json"

PRESENT = frozenset({
    "amounts", "channels", "contact", "contacts", "days_to_conversion", "event_names",
    "first_event", "get_space:ends", "gross_revenue", "hour", "landing_page", "letters",
    "list_contacts:name", "list_contacts:total", "list_destinations", "list_events:amounts",
    "list_events:order", "months", "new_customers", "orders", "reasons", "refunds",
    "several_models", "share", "touch_dates", "touched", "touches_to_conversion", "weekday",
})  # fmt: skip
"""The abilities that questions need and the server has. If a question is answered although its ability is
missing here, its test fails: then add the ability.
"""


@dataclass(frozen=True)
class Call:
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Question:
    id: str
    asks: str
    kind: str
    calls: tuple[Call, ...]
    reads: str | None = None
    right: str | None = None
    refused: str | None = None
    must: str | None = None
    needs: frozenset[str] = frozenset()

    @property
    def is_trap(self) -> bool:
        return self.kind.startswith("trap")

    @property
    def missing_abilities(self) -> frozenset[str]:
        """Return the abilities that the question needs and the server lacks."""
        return self.needs - PRESENT


def read_questions() -> list[Question]:
    questions: list[Question] = []
    for path in sorted((FOLDER / "questions").glob("*.toml")):
        for values in tomllib.loads(path.read_text())["question"]:
            calls = tuple(Call(tool, arguments) for tool, arguments in values.pop("calls"))
            needs = frozenset(values.pop("needs", ()))
            questions.append(Question(calls=calls, needs=needs, **values))
    return questions


def right_answer(question: Question, shop: Shop, facts: Facts) -> Any:
    """Return the answer of the model, or of the question's own function. None if a refusal is right."""
    if question.refused is not None:
        return None
    if question.right is not None:
        return RIGHT[question.right](shop)
    reports = [
        function(facts, call.arguments) if (function := BY_TOOL.get(call.tool)) else None
        for call in question.calls
    ]
    assert question.reads is not None
    return paths.read(question.reads, reports)


def read_answers() -> dict[str, Any]:
    return json.loads(ANSWERS.read_text())


def record(shop: Shop) -> int:
    """Store the right answers, and return the number of questions."""
    facts, questions = shop.facts(), read_questions()
    lines = [
        f"{json.dumps(question.id)}: {json.dumps(right_answer(question, shop, facts))}"
        for question in questions
    ]
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return len(questions)
