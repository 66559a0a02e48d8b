"""Evaluate expressions in a bounded number of steps. Pure.

Every few characters can double a list. So nodes, list items and every hundred characters of text cost steps
from a budget shared by a delivery's fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from typing import Any, cast

from jmespath.visitor import TreeInterpreter

from headwater.intake.webhooks.functions import FUNCTIONS
from headwater.intake.webhooks.standard_functions import same, to_array
from headwater.intake.webhooks.values import is_number, is_text

MAX_STEPS = 250_000
_CHARACTERS_A_STEP = 100

Node = dict[str, Any]
"""A node of the package's syntax tree."""


class StepBudget:
    def __init__(self, steps: int = MAX_STEPS) -> None:
        self._steps_left = steps

    def spend(self, steps: int) -> None:
        """Raise ValueError if too few are left."""
        self._steps_left -= steps
        if self._steps_left < 0:
            raise ValueError("takes too much work: the body is too large for this mapping.")

    def spend_on(self, value: Any, *, deep: bool) -> None:
        """Include nested values if `deep`."""
        waiting_nodes = [value]
        while waiting_nodes:
            node = waiting_nodes.pop()
            self.spend(_measure(node))
            if deep and isinstance(node, dict):
                waiting_nodes.extend(cast("dict[str, Any]", node).values())
            elif deep and isinstance(node, list):
                waiting_nodes.extend(cast("list[Any]", node))


def _measure(value: Any) -> int:
    if isinstance(value, str):
        return 1 + len(value) // _CHARACTERS_A_STEP
    return 1 + len(cast("list[Any]", value)) if isinstance(value, list | dict) else 1


_Standard: Any = TreeInterpreter
"""The type stubs don't describe its nodes."""


class Interpreter(_Standard):
    """JMESPath's interpreter with our functions and a budget."""

    def __init__(self, headers: Mapping[str, str], budget: StepBudget) -> None:
        _Standard.__init__(self)
        self._headers, self._budget = headers, budget

    def visit(self, node: Node, *args: Any, **kwargs: Any) -> Any:
        self._budget.spend(1)
        return _Standard.visit(self, node, *args, **kwargs)

    def visit_function_expression(self, node: Node, value: Any) -> Any:
        name, children = node["value"], node["children"]
        function = FUNCTIONS[name]
        if function.lazy:
            return function.call(self.visit(child, value) for child in children)
        arguments = [self.visit(child, value) for child in children]
        self._budget.spend(function.steps)
        for argument in arguments:
            self._budget.spend_on(argument, deep=function.deep)
            if isinstance(argument, str):
                self._budget.spend(len(argument) // function.characters_a_step)
        function.check_kinds(name, arguments)
        if function.reads_headers:
            return function.call(self._headers, *arguments)
        return function.call(*arguments)

    def visit_expref(self, node: Node, value: Any) -> Callable[[Any], Any]:
        del value  # the function evaluates the reference per item
        return partial(self.visit, node["children"][0])

    def visit_comparator(self, node: Node, value: Any) -> Any:
        left_value, right_value = (self.visit(child, value) for child in node["children"])
        match node["value"]:
            case "eq" | "ne":
                self._budget.spend_on(left_value, deep=True)
                return same(left_value, right_value) is (node["value"] == "eq")
            case ordering:
                comparable = any(fits(left_value) and fits(right_value) for fits in (is_number, is_text))
                return self.COMPARATOR_FUNC[ordering](left_value, right_value) if comparable else None

    def visit_flatten(self, node: Node, value: Any) -> list[Any] | None:
        items = self.visit(node["children"][0], value)
        if not isinstance(items, list):
            return None
        nested = map(to_array, cast("list[Any]", items))
        return list(chain.from_iterable(map(self._count_items, nested)))

    def _count_items(self, items: list[Any]) -> list[Any]:
        self._budget.spend(len(items))
        return items

    def visit_slice(self, node: Node, value: Any) -> Any:
        self._budget.spend_on(value, deep=False)
        return _Standard.visit_slice(self, node, value)
