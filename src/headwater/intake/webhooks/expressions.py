"""Expressions: the places of values in a delivery, in JMESPath (https://jmespath.org) with the
functions of functions.py. Each is checked when it is compiled, which happens once. Pure.

    not_blank(data.object.customer_details.email, data.object.customer_email)
    from_minor_units(amount_total, currency)
    note_attributes[?name=='trk_token'] | [0].value
    header('x-request-id')

Operators write expressions and strangers write documents, so both are bounded: an expression by
its length and depth, the work on a document by a number of steps.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, cast

from jmespath.exceptions import IncompleteExpressionError, JMESPathError, ParseError
from jmespath.parser import Parser

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
"""The decimal digits that a binary fraction always keeps; the package reads numbers as those."""
_TOO_DEEP = "is nested too deeply."


@dataclass(frozen=True)
class Expression:
    """A compiled expression."""

    _tree: Node
    _headers: frozenset[str]

    def find(self, document: MappingInput, budget: StepBudget | None = None) -> Any:
        """Return its value in a document, or None when that is missing or blank. Raises ValueError
        with a rule such as "must be a number." when a value does not fit, or when evaluation takes
        more steps than the budget has.
        """
        interpreter = Interpreter(document.headers, budget or StepBudget())
        try:
            value = interpreter.visit(self._tree, document.body)
        except RecursionError:
            raise ValueError(_TOO_DEEP) from None
        return None if is_blank(value) else value

    def headers(self) -> frozenset[str]:
        """Return the names of the headers that it reads."""
        return self._headers


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """Compile an expression. Raises ValueError that names the place at fault."""
    if len(text) > LONGEST:
        raise ValueError(f"must be at most {LONGEST} characters long.")
    headers: set[str] = set()
    try:
        tree = _checked(_syntax_tree(text), headers, DEEPEST)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    return Expression(tree, frozenset(headers))


def _syntax_tree(text: str) -> Node:
    try:
        # The package still takes text between backticks, with a warning instead of an error.
        with warnings.catch_warnings():
            warnings.simplefilter("error", PendingDeprecationWarning)
            return cast("Node", Parser().parse(text).parsed)
    except PendingDeprecationWarning:
        raise ValueError(
            "cannot be read: between backticks stands JSON; text stands in single quotes, 'so'."
        ) from None
    except IncompleteExpressionError:
        raise ValueError("cannot be read: it ends too early.") from None
    except ParseError as error:
        rest = text[error.lex_position :]
        quoted = rest[:_QUOTED] + ("…" if len(rest) > _QUOTED else "")
        place = f"character {error.lex_position + 1}, “{quoted}”" if rest else "its end"
        raise ValueError(f"cannot be read at {place}.") from None
    except JMESPathError:  # of no characters at all
        raise ValueError("cannot be read: it is empty.") from None


def _checked(node: Node, headers: set[str], depth: int) -> Node:
    """Return the tree with exact numbers. Adds the headers that it reads to `headers`. Raises
    ValueError for every fault that can be found without a document.
    """
    if depth == 0:
        raise ValueError(_TOO_DEEP)
    children: list[Any] = node["children"]
    match node["type"]:
        case "literal":
            return {**node, "value": _exact(node["value"])}
        case "slice":
            if children[2] == 0:
                raise ValueError("must not have a slice with steps of 0.")
            return node
        case "expref":
            raise ValueError("has a & where no function takes an expression.")
        case "function_expression":
            _check_call(node, headers)
            children = [child["children"][0] if _is_reference(child) else child for child in children]
            checked = [_checked(child, headers, depth - 1) for child in children]
            return {**node, "children": _referring(node, checked)}
        case _:
            return {**node, "children": [_checked(child, headers, depth - 1) for child in children]}


def _is_reference(node: Node) -> bool:
    return node["type"] == "expref"


def _referring(call: Node, checked: list[Node]) -> list[Node]:
    """Return the checked arguments of a call, with those after & as references again."""
    return [
        {**before, "children": [after]} if _is_reference(before) else after
        for before, after in zip(call["children"], checked, strict=True)
    ]


def _check_call(node: Node, headers: set[str]) -> None:
    name, arguments = node["value"], cast("list[Node]", node["children"])
    function = FUNCTIONS.get(name)
    if function is None:
        raise ValueError(f"names {name}(), which is none of {', '.join(sorted(FUNCTIONS))}.")
    function.check_count(name, len(arguments))
    for index, argument in enumerate(arguments):
        if (function.kind(index) is EXPRESSION) != _is_reference(argument):
            raise ValueError(f"must have {function.kind(index).words} in {name}().")
    if function.reads_headers:
        headers.add(_header_name(name, arguments[0]))


def _header_name(function: str, argument: Node) -> str:
    name = argument.get("value")
    if argument["type"] != "literal" or not isinstance(name, str):
        raise ValueError(f"must name the header in {function}() outright, in single quotes.")
    if name.lower() in FORBIDDEN_HEADERS:
        raise ValueError(f"must not read {name.lower()}.")
    return name.lower()


def _exact(value: Any) -> Any:
    """Return a literal without binary fractions."""
    if isinstance(value, float):
        number = Decimal(repr(value))
        if not math.isfinite(value) or len(number.as_tuple().digits) > _EXACT_DIGITS:
            raise ValueError(f"must not have a number of more than {_EXACT_DIGITS} digits; use number('…').")
        return number
    if isinstance(value, list):
        return [_exact(item) for item in cast("list[Any]", value)]
    if isinstance(value, Mapping):
        return {key: _exact(member) for key, member in cast("dict[str, Any]", value).items()}
    return value
