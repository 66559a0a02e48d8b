"""The cost of a Space's mapping: its functions use steps in proportion to their work, and nothing runs on the
event loop. Measured in CPU time of threads and in steps.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from headwater.intake.webhooks.drafts import make_draft
from headwater.intake.webhooks.expressions import parse
from headwater.intake.webhooks.functions import OWN_FUNCTIONS
from headwater.intake.webhooks.interpretation import draft_event
from headwater.intake.webhooks.interpreter import MAX_STEPS, StepBudget
from headwater.intake.webhooks.models import MappingInput, ReadContext, WebhookRequest, WebhookSettings
from tests.hostile.growth import measure_pace
from tests.support.campaigns import pick_share

COUNT = 38_000
WORDS = [f"word {number}" for number in range(COUNT)]
URLS = [f"https://a.example/{number}?x=1" for number in range(COUNT // 2)]
NUMBERS = [f"{number}.5" for number in range(COUNT)]
LONG = "https://a.example/?" + "&".join(f"p{n}=%41" for n in range(190)) + "&z=" + "%41" * 200_000
OWN = {
    "absolute_url": "absolute_url(@,'https://a.example/b/c')",
    "url_host": "url_host(@)",
    "url_source": "url_source(@)",
    "url_parameter": "url_parameter(@,'x')",
    "number": "number(@)",
    "from_minor_units": "from_minor_units(@,'JPY')",
    "from_milliseconds": "from_milliseconds(@)",
    "subtract": "subtract(@,`1`)",
    "negative": "negative(@)",
    "join_words": "join_words(@,@)",
    "not_blank": "not_blank(@,@)",
    "total": "total([@,@])",
}
MAPPINGS: dict[str, tuple[str, Any]] = {
    **{
        f"{name} of many": (f"length(map(&{call}, u))", URLS if "url" in name else NUMBERS)
        for name, call in OWN.items()
    },
    **{
        f"{name} within lists": (f"length(map(&map(&{call}, [@,@,@]), u))", NUMBERS)
        for name, call in OWN.items()
    },
    "relative addresses": ("length(map(&absolute_url(@,'https://a/" + "a/" * 1500 + "'), u))",
                           ["../" * 80] * 3000),
    "one long query": ("url_parameter(u,'none')", LONG),
    "one long address": ("url_source(u)", LONG),
    "sorted by a function": ("length(sort_by(u, &number(@)))", NUMBERS),
    "sorted by an address": ("length(sort_by(u, &url_host(@)))", URLS),
    "greatest by a function": ("max_by(u, &negative(@))", NUMBERS),
    "joined": ("length(join('-', map(&join_words(@,@), u)))", WORDS),
    "written": ("length(map(&to_string([@,@]), u))", WORDS),
    "filtered": ("length(u[?url_host(@)=='a.example' && contains(@,'9')])", URLS),
    "searched": ("length(u[?contains(@,'ab') || starts_with(@,'x') || ends_with(@,'y')])", WORDS),
    "flattened": ("length(map(&[@,[@,@]], u)[][])", WORDS),
}  # fmt: skip
LOOP_SECONDS = 0.05
STEP_SECONDS = 10e-6
"""Upper limit of a step's CPU time on a slow machine. Measured: 0.25 to 2 µs."""


def delivery(text: str, body: Any) -> tuple[ReadContext, WebhookRequest]:
    settings = WebhookSettings(mapping={"email": "'a@b.org'", "full_name": text},
                               events={"*": "purchase"})  # fmt: skip
    message = WebhookRequest({}, json.dumps({"u": body}).encode(), time.time())
    return ReadContext("generic", settings), message


def cpu(work: Callable[[], object]) -> float:
    started = time.thread_time()
    work()
    return time.thread_time() - started


def test_it_works() -> None:
    """The event loop's thread does almost nothing, and keeps running meanwhile."""
    reader, message = delivery(*MAPPINGS["absolute_url of many"])

    async def serve() -> int:
        turns = 0
        task = asyncio.ensure_future(make_draft(1, reader, message))
        while not task.done():
            turns += 1
            await asyncio.sleep(0)
        return turns

    assert asyncio.run(serve()) > 2


@pytest.mark.parametrize("name", pick_share(MAPPINGS, "loop"))
def test_the_loop_does_none_of_it(name: str) -> None:
    reader, message = delivery(*MAPPINGS[name])

    def run() -> None:
        asyncio.run(make_draft(1, reader, message))

    assert cpu(run) < LOOP_SECONDS


@pytest.mark.parametrize("name", pick_share(MAPPINGS, "steps", 3))
def test_steps_are_what_it_costs(name: str) -> None:
    text, body = MAPPINGS[name]
    expression, budget = parse(text), StepBudget()

    def run() -> None:
        try:
            expression.find(MappingInput({"u": body}, {}), budget)
        except ValueError as error:
            assert "takes too much work" in str(error)  # noqa: PT017 - both outcomes are valid

    pace = measure_pace()
    seconds = cpu(run) / max(1.0, pace, measure_pace())
    assert seconds < max(MAX_STEPS - budget._steps_left, 2000) * STEP_SECONDS


def test_all_own_functions_are_tried() -> None:
    assert set(OWN) | {"header"} == set(OWN_FUNCTIONS)


def test_spaces_take_turns() -> None:
    """However many deliveries one Space has, another Space waits for at most one of them."""
    slow = delivery(*MAPPINGS["number of many"])
    quick = delivery("u", "x")
    order: list[int] = []

    async def take(space_id: int, inputs: tuple[ReadContext, WebhookRequest]) -> None:
        await make_draft(space_id, *inputs)
        order.append(space_id)

    async def serve() -> None:
        await asyncio.gather(*(take(1, slow) for _ in range(5)), take(2, quick))

    asyncio.run(serve())
    assert order.index(2) <= 1


def test_a_draft_is_the_same_in_a_thread() -> None:
    reader, message = delivery("u", "Ada")
    assert asyncio.run(make_draft(1, reader, message)) == draft_event(reader, message)
