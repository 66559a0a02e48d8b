"""Check that a body is one protocol message: a JSON object whose texts can be stored. The SDK checks the
rest.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from headwater.http.errors import Invalid, Problem
from headwater.http.json_decoder import decode_json, refuse_bad_text

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS = -32700, -32600, -32602
"""JSON-RPC 2.0, section 5.1."""
ONE_AT_A_TIME = "The body must be one JSON-RPC message: an object."


class BadMessage(Problem):
    """400: not an answerable message. The error has the protocol's format."""

    def __init__(self, code: int, message: str, request_id: Any = None) -> None:
        super().__init__(message, 400)
        self._code, self._id = code, request_id if isinstance(request_id, str | int) else None

    def body(self) -> bytes:
        return _error(self._code, self.message, self._id)


def encode_problem(problem: Problem) -> bytes:
    """Return the service's format, which is also a protocol error, so people see the reason instead of a
    status.
    """
    if isinstance(problem, BadMessage):
        return problem.body()
    return _error(INVALID_REQUEST, problem.message)[:-1] + b"," + problem.body()[1:]


def _error(code: int, message: str, request_id: Any = None) -> bytes:
    error = {"code": code, "message": message}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "error": error})


def check_message(body: bytes) -> None:
    """Raise BadMessage for invalid JSON, several messages, or invalid text."""
    try:
        message = decode_json(body)
    except Invalid as error:
        raise BadMessage(PARSE_ERROR, error.message) from None
    if not isinstance(message, dict):
        raise BadMessage(INVALID_REQUEST, ONE_AT_A_TIME)
    if b"\\u0000" not in body:  # other unstorable text has failed to decode
        return
    try:
        refuse_bad_text(cast("dict[str, Any]", message))
    except Invalid as error:
        request_id = cast("dict[str, Any]", message).get("id")
        raise BadMessage(INVALID_PARAMS, error.message, _sound(request_id)) from None


def _sound(request_id: Any) -> Any:
    """Return an id only if an answer can repeat it."""
    try:
        refuse_bad_text(request_id)
    except Invalid:
        return None
    return request_id
