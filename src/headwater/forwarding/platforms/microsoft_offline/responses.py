"""Responses of Microsoft's Campaign Management: errors of the call, or of events by position. Pure."""

from __future__ import annotations

from typing import Any, cast

from headwater.base.egress import microsoft_ads
from headwater.base.egress.answers import is_number, join_error_texts, read_object, succeeded
from headwater.base.egress.models import EgressResponse
from headwater.forwarding.platforms.models import CallDeferred, CredentialsRefused, PartlyAccepted, Verdict
from headwater.forwarding.platforms.responses import by_status, refuse, unreadable

_MISSING_HEADERS = 116
_ACCOUNT_CODES = frozenset({microsoft_ads.PERMISSION_CODE, _MISSING_HEADERS})
_LATER_CODES = microsoft_ads.RATE_CODES | {microsoft_ads.INTERNAL_CODE}
_VERSION_GONE = 404


def classify(answer: EgressResponse, count: int) -> Verdict:
    body = read_object(answer)
    if body is None:
        return unreadable(answer, count)
    if faults := microsoft_ads.read_errors(body, "OperationErrors", "Errors"):
        return _judge_fault(faults[0], answer, count)
    if errors := microsoft_ads.read_errors(body, "PartialErrors", "BatchErrors"):
        return _judge_events(errors, answer, count)
    if answer.status == _VERSION_GONE:
        return CredentialsRefused("HTTP 404: Microsoft may have ended this api_version; set a newer one")
    return by_status(answer, count, confirmed=_confirms(body, answer))


def _confirms(body: dict[str, Any], answer: EgressResponse) -> bool:
    """Accept empty errors, or an empty object: the errors are the only member of an answer."""
    errors = body.get("PartialErrors")
    is_answer = "PartialErrors" in body or (not body and bool(answer.body.strip()))
    is_empty = errors is None or (isinstance(errors, list) and not any(cast("list[Any]", errors)))
    return is_answer and is_empty


def _judge_fault(fault: dict[str, Any], answer: EgressResponse, count: int) -> Verdict:
    code, name, text = _read_code(fault), str(fault.get("ErrorCode")), _describe(fault)
    if code in _LATER_CODES:
        wait = microsoft_ads.RATE_SECONDS if code in microsoft_ads.RATE_CODES else None
        return CallDeferred(text, wait)
    if code in microsoft_ads.TOKEN_CODES:
        return CredentialsRefused(text)
    if code in _ACCOUNT_CODES or "AccountId" in name or "CustomerId" in name:
        return CredentialsRefused(text, account=True)
    return refuse(text, count) if succeeded(answer) else by_status(answer, count, text)


def _judge_events(errors: list[dict[str, Any]], answer: EgressResponse, count: int) -> Verdict:
    """Events without an error were accepted, unless an error does not name its event."""
    permanent: dict[int, str] = {}
    temporary: dict[int, str] = {}
    all_named = True
    for error in errors:
        index = error.get("Index")
        if is_number(index) and 0 <= index < count:
            (temporary if _read_code(error) in _LATER_CODES else permanent)[index] = _describe(error)
        else:
            all_named = False
    if not permanent and not temporary:
        return refuse(_describe(errors[0]), count)
    retryable = {index: text for index, text in temporary.items() if index not in permanent}
    return PartlyAccepted(permanent, succeeded(answer) and all_named, retryable)


def _read_code(error: dict[str, Any]) -> int | None:
    code = error.get("Code")
    return code if is_number(code) else None


def _describe(error: dict[str, Any]) -> str:
    # The name comes last: what follows a word such as AuthenticationToken is masked.
    name = error.get("ErrorCode") or error.get("Code") or "no code"
    return join_error_texts(f"{error.get('Message') or 'Invalid'} ({name})")
