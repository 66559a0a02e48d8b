"""Compile expressions that locate values in a delivery: JMESPath (https://jmespath.org) with the functions of
functions.py. Pure.

    not_blank(data.object.customer_details.email, data.object.customer_email)
    from_minor_units(amount_total, currency)
    note_attributes[?name=='trk_token'] | [0].value
    header('x-request-id')

Length and depth of expressions are bounded, and so is the work on a document.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, cast

from jmespath.exceptions import IncompleteExpressionError, JMESPathError, ParseError
from jmespath.parser import Parser
from msgspec import Struct

from headwater.http.inputs.fields import is_blank
from headwater.intake.webhooks.functions import FUNCTIONS
from headwater.intake.webhooks.interpreter import Interpreter, Node, StepBudget
from headwater.intake.webhooks.models import MappingInput
from headwater.intake.webhooks.values import EXPRESSION

FORBIDDEN_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie"})
LONGEST = 4000
DEEPEST = 100

_QUOTED = 20
_EXACT_DIGITS = 15
"""A float preserves this many decimal digits; the package parses floats."""
_TOO_DEEP = "is nested too deeply."


class Expression(Struct, frozen=True):
    _tree: Node
    _headers: frozenset[str]

    def find(self, document: MappingInput, budget: StepBudget | None = None) -> Any:
        """Return None if missing or blank. Raises ValueError with a rule such as "must be a number.", or
        beyond the budget.
        """
        interpreter = Interpreter(document.headers, budget or StepBudget())
        try:
            value = interpreter.visit(self._tree, document.body)
        except RecursionError:
            raise ValueError(_TOO_DEEP) from None
        return None if is_blank(value) else value

    def headers(self) -> frozenset[str]:
        return self._headers


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """Raise ValueError with the position of the error."""
    if len(text) > LONGEST:
        raise ValueError(f"must be at most {LONGEST} characters long.")
    headers: set[str] = set()
    try:
        tree = _check_tree(_parse_tree(text), headers, DEEPEST)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    return Expression(tree, frozenset(headers))


def _parse_tree(text: str) -> Node:
    try:
        # The package only warns of text in backticks.
        with warnings.catch_warnings():
            warnings.simplefilter("error", PendingDeprecationWarning)
            return cast("Node", Parser().parse(text).parsed)
    except PendingDeprecationWarning:
        raise ValueError(
            "cannot be read: put text in single quotes ('text'); backticks are for JSON."
        ) from None
    except IncompleteExpressionError:
        raise ValueError("cannot be read: it ends too early.") from None
    except ParseError as error:
        remaining_text = text[error.lex_position :]
        quoted_text = remaining_text[:_QUOTED] + ("…" if len(remaining_text) > _QUOTED else "")
        position = f"character {error.lex_position + 1}, “{quoted_text}”" if remaining_text else "its end"
        raise ValueError(f"cannot be read at {position}.") from None
    except JMESPathError:  # an empty expression
        raise ValueError("cannot be read: it is empty.") from None


def _check_tree(node: Node, headers: set[str], depth: int) -> Node:
    """Return the tree with exact numbers, and collect headers. Raises ValueError for static errors."""
    if depth == 0:
        raise ValueError(_TOO_DEEP)
    children: list[Any] = node["children"]
    match node["type"]:
        case "literal":
            return {**node, "value": _make_exact(node["value"])}
        case "slice":
            if children[2] == 0:
                raise ValueError("must not have a slice with steps of 0.")
            return node
        case "expref":
            raise ValueError("has a & where no function takes an expression.")
        case "function_expression":
            _check_call(node, headers)
            children = [child["children"][0] if _is_reference(child) else child for child in children]
            checked = [_check_tree(child, headers, depth - 1) for child in children]
            return {**node, "children": _restore_references(node, checked)}
        case _:
            return {**node, "children": [_check_tree(child, headers, depth - 1) for child in children]}


def _is_reference(node: Node) -> bool:
    return node["type"] == "expref"


def _restore_references(call: Node, checked: list[Node]) -> list[Node]:
    """Return a call's checked arguments, restoring `&` references."""
    return [
        {**before, "children": [after]} if _is_reference(before) else after
        for before, after in zip(call["children"], checked, strict=True)
    ]


def _check_call(node: Node, headers: set[str]) -> None:
    name, arguments = node["value"], cast("list[Node]", node["children"])
    function = FUNCTIONS.get(name)
    if function is None:
        raise ValueError(
            f"has the unknown function {name}(); the functions are {', '.join(sorted(FUNCTIONS))}."
        )
    function.check_count(name, len(arguments))
    for index, argument in enumerate(arguments):
        if (function.kind(index) is EXPRESSION) != _is_reference(argument):
            raise ValueError(f"must have {function.kind(index).words} in {name}().")
    if function.reads_headers:
        headers.add(_read_header_name(name, arguments[0]))


def _read_header_name(function: str, argument: Node) -> str:
    name = argument.get("value")
    if argument["type"] != "literal" or not isinstance(name, str):
        raise ValueError(f"must have the header's name in single quotes in {function}().")
    if name.lower() in FORBIDDEN_HEADERS:
        raise ValueError(f"must not read {name.lower()}.")
    return name.lower()


def _make_exact(value: Any) -> Any:
    """Return a literal without floats."""
    if isinstance(value, float):
        number = Decimal(repr(value))
        if not math.isfinite(value) or len(number.as_tuple().digits) > _EXACT_DIGITS:
            raise ValueError(f"must not have a number of more than {_EXACT_DIGITS} digits; use number('…').")
        return number
    if isinstance(value, list):
        return [_make_exact(item) for item in cast("list[Any]", value)]
    if isinstance(value, Mapping):
        return {key: _make_exact(member) for key, member in cast("dict[str, Any]", value).items()}
    return value
