"""Marketers' questions, in their words: each gets the right answer from at most three tool calls with at most
6,000 tokens.

A question that needs a missing ability must fail. Its test fails once the ability exists, as a reminder to
enable the question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.assistants import __main__, paths
from tests.assistants.asking import MOST_CALLS, Outcome, Tools, ask
from tests.assistants.catalogue import PRESENT, Question, read_answers, read_questions, right_answer
from tests.assistants.installing import install, make_token
from tests.assistants.shop import make_shop
from tests.conftest import BASE_URL, Running
from tests.support.campaigns import pick_share

QUESTIONS = read_questions()
RIGHT = read_answers()


@pytest.fixture(scope="module")
def tools(server: Running, database_url: str) -> Iterator[Tools]:
    """The tools of the shop's Space."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        stage = install(connection, make_shop())
        token = make_token(connection, stage.space_id)
    url = f"{server.base_url}/mcp/{stage.space_id}/public-api"
    tools = Tools(url, token, host=BASE_URL.partition("//")[2])
    yield tools
    tools.client.close()


def test_it_works(tools: Tools) -> None:
    assert tools.call("get_space", {})["currency"] == "EUR"
    assert len(QUESTIONS) >= 120
    assert sum(question.is_trap for question in QUESTIONS) >= 30
    assert len({question.id for question in QUESTIONS}) == len(QUESTIONS)
    assert all(len(question.calls) <= MOST_CALLS for question in QUESTIONS)
    assert all(question.must for question in QUESTIONS if question.is_trap)


def test_what_is_right_is_what_the_model_says() -> None:
    """An ordinary run asks the model some of the questions."""
    shop = make_shop()
    facts = shop.facts()
    wrong = {
        question.id: (RIGHT.get(question.id), right)
        for question in pick_share(QUESTIONS, "model")
        if (right := right_answer(question, shop, facts)) != RIGHT.get(question.id)
    }
    assert wrong == {}
    assert RIGHT.keys() == {question.id for question in QUESTIONS}


@pytest.mark.parametrize("question", [pytest.param(question, id=question.id) for question in QUESTIONS])
def test_a_question(tools: Tools, question: Question) -> None:
    outcome = ask(tools, question, RIGHT[question.id])
    if not question.missing_abilities:
        assert outcome.trouble is None, f"{question.asks} It {outcome.trouble}."
    elif outcome.trouble is None:
        pytest.fail(f"is answered without {sorted(question.missing_abilities)}: add what is there to PRESENT")
    else:
        pytest.xfail(f"needs {', '.join(sorted(question.missing_abilities))}")


def test_every_ability_is_needed() -> None:
    """Every name in PRESENT is used by a question."""
    need_counts = Counter(need for question in QUESTIONS for need in question.needs)
    assert need_counts.keys() >= PRESENT


def test_a_wrong_figure_is_noticed(tools: Tools) -> None:
    [question] = [candidate for candidate in QUESTIONS if candidate.id == "revenue-of-a-month"]
    outcomes: list[Outcome] = [
        ask(tools, question, wrong) for wrong in (29698.93, "29698.92", None, [29698.92])
    ]  # fmt: skip
    assert all(outcome.trouble for outcome in outcomes)


def test_the_command(
    tools: Tools, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RIGHT, "revenue-of-a-day", 1)
    monkeypatch.setattr(__main__, "read_answers", lambda: RIGHT)
    assert __main__.put_all(tools, "revenue-of-a") == 1
    output = capsys.readouterr().out
    assert "29698.92" in output
    assert "and should be 1\n" in output
    assert "5 right, 1 wrong" in output


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1.totals.revenue", 3), ("1.rows[source=email].revenue", 2), ("1.rows[-1].source", None),
        ("1.rows[*].revenue", [2, 1]), ("1.rows.length", 2), ("1.rows[source=null].revenue", 1),
        ("1.totals.revenue - 1.rows[0].revenue", 1), ("1.totals.revenue / 2", 1.5),
        ("2.items[type=b].id", 8), ("2.items[*].id", [7, 8]),
    ],
)  # fmt: skip
def test_expressions(expression: str, value: Any) -> None:
    report = {"columns": ["source", "revenue"], "rows": [["email", 2], [None, 1]],
              "totals": {"revenue": 3}}  # fmt: skip
    listing = {"items": [{"type": "a", "id": 7}, {"type": "b", "id": 8}]}
    assert paths.read(expression, [report, listing]) == value
    assert paths.fill_in({"id": ["$2.items[0].id"]}, [report, listing]) == {"id": [7]}
