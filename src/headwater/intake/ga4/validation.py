"""The answers of the validation endpoint of GA4's Measurement Protocol. Pure."""

from __future__ import annotations

from operator import itemgetter

from msgspec import Struct

from headwater.http.errors import Invalid
from headwater.intake.ga4.requests import TooManyEvents
from headwater.intake.protocols.endpoint import Outcome


class ValidationMessage(Struct, frozen=True, rename="camel"):
    field_path: str
    description: str
    validation_code: str


def list_messages(outcome: Outcome) -> list[ValidationMessage]:
    """Return what is wrong, and what would be ignored, in order of the events."""
    if outcome.refusal is not None:
        return _explain(outcome.refusal, "")
    indexed_messages = [(index, _explain(problem, f"events[{index}].")) for index, problem in outcome.invalid]
    for index, ignored in outcome.ignored:
        path = ignored.name if index is None else f"events[{index}].name"
        code = "VALUE_INVALID" if index is None else "NAME_INVALID"
        message = ValidationMessage(path, ignored.reason.sentence, code)
        indexed_messages.append((-1 if index is None else index, [message]))
    indexed_messages.sort(key=itemgetter(0))
    return [message for _, messages in indexed_messages for message in messages]


def name_events(invalid: list[tuple[int, Invalid]]) -> dict[str, list[str]]:
    """Return the errors of all events by the paths of their members."""
    return {
        f"events.{index}.{field}": rules
        for index, problem in invalid
        for field, rules in problem.errors.items()
    }


def _explain(problem: Invalid, prefix: str) -> list[ValidationMessage]:
    return [
        ValidationMessage(prefix + field, rule, _find_code(problem, rule))
        for field, rules in problem.errors.items()
        for rule in rules
    ]


def _find_code(problem: Invalid, rule: str) -> str:
    """Return Google's word for the kind of error."""
    if isinstance(problem, TooManyEvents):
        return "EXCEEDED_MAX_ENTITIES"
    return "VALUE_REQUIRED" if " is required" in rule else "VALUE_INVALID"
