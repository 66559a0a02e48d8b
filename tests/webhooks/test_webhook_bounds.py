"""No expression and no body can exceed the limits on the work for a delivery."""

from __future__ import annotations

import tracemalloc
from decimal import Decimal
from typing import Any

import pytest

from headwater.intake.webhooks.expressions import DEEPEST, LONGEST, parse
from headwater.intake.webhooks.interpreter import MAX_STEPS, StepBudget
from headwater.intake.webhooks.mapping import map_fields
from headwater.intake.webhooks.models import MappingInput, Status
from headwater.intake.webhooks.providers import PROVIDERS
from tests.support.campaigns import pick_share
from tests.support.webhooks import read

MEGABYTE = 1024 * 1024
NUMBERS = list(range(60_000))
TEXTS = ["x" * 50] * 4000
LONG = "x" * 250_000
MEMBERS = {str(number): 1 for number in range(20_000)}


def pipe_steps(start: str, step: str, times: int = DEEPEST - 10) -> str:
    return " | ".join([start, *[step] * times])


def list_text(item: str, times: int) -> str:
    return f"[{','.join([item] * times)}]"


HOSTILE = {
    # First, because it soon ends even without a budget. Others would run for minutes.
    "a long list counted again and again": (list_text("length(@)", 10), NUMBERS),
    "a list doubled again and again": (pipe_steps("a", "[@,@][]"), {"a": [1] * 1000}),
    "one list a thousand times": (list_text("@", 1000) + "[]", NUMBERS),
    "a tree doubled, then written": (pipe_steps("@", "[@,@]") + " | to_string(@)", TEXTS),
    "a text doubled again and again": (pipe_steps("@", "join('',[@,@])"), LONG),
    "long lists compared": (list_text("a==b", 400), {"a": NUMBERS, "b": list(NUMBERS)}),
    "a long text searched": (list_text("contains(@,'yx')", 200), LONG),
    "a list sorted again and again": (pipe_steps("@", "sort(@)"), NUMBERS),
    "a list sorted by itself": (pipe_steps("@", "sort_by(@,&@)"), NUMBERS),
    "a list turned again and again": (pipe_steps("@", "reverse(@)"), NUMBERS),
    "a list cut again and again": (pipe_steps("@", "[::-1]"), NUMBERS),
    "an object's values": (list_text("values(@)", 300), MEMBERS),
    "an object merged with itself": (f"merge({','.join('@' * 900)})", MEMBERS),
    "lists of lists": ("map(&map(&@,@),[@,@,@])", NUMBERS),
    "conditions": (f"[?{' && '.join(['@>=`0`'] * 90)}]", NUMBERS),
    "alternatives": (f"not_blank({','.join(['[?@<`0`]|[0]'] * 150)})", NUMBERS),
}


def assert_ends_early(name: str) -> None:
    text, body = HOSTILE[name]
    with pytest.raises(ValueError, match="takes too much work"):
        parse(text).find(MappingInput(body, {}))


@pytest.mark.parametrize("name", HOSTILE)
def test_it_works(name: str) -> None:
    assert_ends_early(name)


@pytest.mark.parametrize("name", pick_share(HOSTILE, "memory", 8))
def test_it_needs_little_memory(name: str) -> None:
    tracemalloc.start()
    try:
        assert_ends_early(name)
        assert tracemalloc.get_traced_memory()[1] < 20 * MEGABYTE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("ceil(@)", Decimal("1e99999999")),
        ("sum([@, @])", Decimal("9e999999")),
        ("abs(@)", Decimal("1e999999999")),
        ("total([@])", 10**4000),
    ],
)
def test_numbers_beyond_all_bounds(text: str, body: Any) -> None:
    with pytest.raises(ValueError, match=r"^must be a number\.$"):
        parse(text).find(MappingInput(body, {}))


def nested_list(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("text", ["@ == @[0]", "to_string(@)", "contains(@, @)"])
def test_bodies_that_are_nested_deeply(text: str) -> None:
    assert parse(text).find(MappingInput(nested_list(50), {})) is not None
    with pytest.raises(ValueError, match=r"nested too deeply|takes too much work"):
        parse(text).find(MappingInput(nested_list(200_000), {}))


@pytest.mark.parametrize(
    "text",
    ["(" * 1500 + "a" + ")" * 1500, "!" * 3000 + "a", "[" * 3000, "a" + "||a" * DEEPEST,
     "negative(" * DEEPEST + "a" + ")" * DEEPEST, "`" + "[" * 1900 + "]" * 1900 + "`"],
)  # fmt: skip
def test_expressions_that_are_nested_deeply(text: str) -> None:
    assert len(text) <= LONGEST
    with pytest.raises(ValueError, match=r"nested too deeply|ends too early"):
        parse(text)


def test_as_deep_as_may_be() -> None:
    text = "negative(" * (DEEPEST - 1) + "a" + ")" * (DEEPEST - 1)
    assert parse(text).find(MappingInput({"a": 1}, {})) == -1
    with pytest.raises(ValueError, match=f"at most {LONGEST} characters"):
        parse("a" * (LONGEST + 1))


class Meter(StepBudget):
    """Count the work used."""

    def __init__(self) -> None:
        super().__init__()
        self.spent = 0

    def spend(self, steps: int) -> None:
        self.spent += steps
        super().spend(steps)


@pytest.mark.parametrize(
    ("kind", "topic", "lists"),
    [("shopify", "orders/paid", ("note_attributes",)), ("woocommerce", "order", ("meta_data",))],
)
def test_the_work_grows_with_the_body(kind: str, topic: str, lists: tuple[str, ...]) -> None:
    """A body twice as long needs at most twice the work, and a long one still fits."""

    def spend_units(length: int) -> int:
        pair = {"name": "note", "key": "note", "value": "v", "amount": "1.00"}
        body = {name: [pair] * length for name in lists}
        meter = Meter()
        for text in PROVIDERS[kind].fields[topic].values():
            parse(text).find(MappingInput(body, {}), meter)
        return meter.spent

    assert spend_units(400) <= 2 * spend_units(200)
    assert spend_units(2000) < MAX_STEPS


def test_all_fields_of_a_delivery_share_one_budget() -> None:
    body = {"items": NUMBERS}
    result = map_fields(MappingInput(body, {}), {"phone": "items[?@<`0`] | [0]"})
    assert result.left_out == []
    names = ("phone", "full_name", "first_name", "last_name")
    several = map_fields(MappingInput(body, {}), dict.fromkeys(names, "items[?@<`0`] | [0]"))
    assert "The last_name takes too much work: the body is too large for this mapping." in (several.left_out)


def test_an_amount_that_takes_too_much_work_is_refused() -> None:
    settings = {"event": "purchase", "map.email": "email", "map.amount": "total(a[].b[].c[])"}
    body = {"email": "ada@example.com", "a": [{"b": [{"c": [1] * 10}] * 10}] * 200}
    assert read("generic", body, settings=settings).status is Status.ACCEPTED
    outcome = read("generic", {**body, "a": body["a"] * 10}, settings=settings)
    assert outcome.status is Status.REFUSED
    assert outcome.errors == {
        "amount": ["The amount takes too much work: the body is too large for this mapping."]
    }
