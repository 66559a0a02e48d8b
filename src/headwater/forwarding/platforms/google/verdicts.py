"""Google's verdicts on the events of a request, by conversion action and position. Pure.

Google names rejected events by position. A conversion action may also fail as a whole, without positions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast
from urllib.parse import urlencode

from headwater.base.egress.answers import (
    get_nested,
    is_number,
    join_error_texts,
    objects,
    read_object,
    succeeded,
)
from headwater.base.egress.calls import bearer
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.forwarding.platforms.google.responses import CREDENTIALS, RETRYABLE_ERRORS
from headwater.forwarding.platforms.google.settings import GoogleSettings
from headwater.forwarding.platforms.google.verdict_reasons import REASONS, read_name
from headwater.forwarding.platforms.models import Destination
from headwater.forwarding.platforms.verdicts import (
    OTHER,
    EventVerdict,
    VerdictAnswer,
    Verdicts,
    VerdictsDeferred,
    VerdictsPending,
    VerdictsUnavailable,
)

LONGEST_ID = 200
"""Characters of a request id."""

_FINAL = frozenset({"SUCCESS", "FAILED", "PARTIAL_SUCCESS"})
_COUNTED_VERDICT = EventVerdict("counted")
_SEVERITY = ("counted", "retrying", "refused")


def read_request_id(answer: EgressResponse) -> str | None:
    request_id = (read_object(answer) or {}).get("requestId")
    is_usable = isinstance(request_id, str) and 0 < len(request_id) <= LONGEST_ID and request_id.isprintable()
    return request_id if is_usable else None


def make_request(request_id: str, destination: Destination) -> EgressRequest:
    settings: GoogleSettings = destination.settings
    query = urlencode({"requestId": request_id})
    url = f"{destination.url}/{settings.api_version}/requestStatus:retrieve?{query}"
    return EgressRequest(url=url, method="GET", headers=bearer(destination.access_token))


def read_verdicts(answer: EgressResponse, parts: Mapping[int, dict[str, Any] | None]) -> VerdictAnswer:
    """Return verdicts on `parts`: stored parts of the request by position, None if erased."""
    body = read_object(answer)
    if body is None or not succeeded(answer):
        return _read_failure(answer, body or {})
    groups = objects(body.get("requestStatusPerDestination"))
    if not groups or any(str(group.get("requestStatus")) not in _FINAL for group in groups):
        return VerdictsPending()
    named_verdicts: dict[int, EventVerdict] = {}
    for group in groups:
        for position, verdict in _read_named(group, parts):
            named_verdicts[position] = max(named_verdicts.get(position, verdict), verdict, key=_severity)
    unnamed_verdicts = {_read_action(group): _judge_unnamed(group) for group in groups}
    verdicts = {
        position: named_verdicts.get(position) or _find(unnamed_verdicts, part)
        for position, part in parts.items()
    }
    return Verdicts({position: verdict for position, verdict in verdicts.items() if verdict is not None})


def _read_failure(answer: EgressResponse, body: dict[str, Any]) -> VerdictAnswer:
    """A request id is unknown only if Google says so: a proxy may answer 404, too."""
    error = body.get("error")
    status = str(get_nested(error, "status"))
    if (
        answer.status not in {400, 404}
        or not isinstance(error, dict)
        or status in CREDENTIALS | RETRYABLE_ERRORS
    ):
        return VerdictsDeferred(answer.headers.get("retry-after"))
    return VerdictsUnavailable(join_error_texts(status, get_nested(error, "message")))


def _read_named(group: dict[str, Any], positions: Collection[int]) -> Iterator[tuple[int, EventVerdict]]:
    for error in _errors(group):
        verdict = _judge(error)
        for position in _positions(error):
            if position in positions:
                yield position, verdict


def _judge_unnamed(group: dict[str, Any]) -> EventVerdict | None:
    """Return the verdict on events that are named by no error, None if some of them failed."""
    incomplete = [error for error in _errors(group) if not _is_complete(error)]
    if group["requestStatus"] == "FAILED":
        return _judge(incomplete[0]) if incomplete else EventVerdict("refused", OTHER, "FAILED")
    return None if incomplete else _COUNTED_VERDICT


def _find(
    unnamed: Mapping[str | None, EventVerdict | None], part: dict[str, Any] | None
) -> EventVerdict | None:
    references = (part or {}).get("destinationReferences")
    action = cast("list[Any]", references)[0] if isinstance(references, list) and references else None
    if action in unnamed:
        return unnamed[action]
    return next(iter(unnamed.values())) if len(set(unnamed.values())) == 1 else None


def _judge(error: dict[str, Any]) -> EventVerdict:
    reason = error.get("reason")
    name = read_name(reason) if isinstance(reason, str) else ""
    if name not in REASONS:
        return EventVerdict("refused", OTHER, join_error_texts(reason) or "No reason given.")
    outcome = REASONS[name].outcome
    return _COUNTED_VERDICT if outcome == "counted" else EventVerdict(outcome, name)


def _errors(group: dict[str, Any]) -> list[dict[str, Any]]:
    return objects(get_nested(group, "errorInfo", "errorCounts"))


def _positions(error: dict[str, Any]) -> set[int]:
    indices = error.get("recordIndices")
    numbers = map(_read_number, cast("list[Any]", indices)) if isinstance(indices, list) else ()
    return {number for number in numbers if number is not None}


def _is_complete(error: dict[str, Any]) -> bool:
    """Whether it names every event that it counts."""
    positions = _positions(error)
    return bool(positions) and len(positions) >= (_read_number(error.get("recordCount")) or 0)


def _read_number(value: Any) -> int | None:
    """Google writes 64-bit integers as strings."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return value if is_number(value) else None


def _read_action(group: dict[str, Any]) -> str | None:
    action = get_nested(group, "destination", "productDestinationId")
    return action if isinstance(action, str) else None


def _severity(verdict: EventVerdict) -> int:
    return _SEVERITY.index(verdict.status)
