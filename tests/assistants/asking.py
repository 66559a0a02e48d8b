"""Asks a server questions as an assistant would: by calling its tools over HTTP."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.assistants import paths
from tests.assistants.catalogue import Question

MOST_CALLS = 3
MOST_TOKENS = 6_000
"""The maximum for all answers to a question, at four bytes of JSON a token."""
PATIENCE_SECONDS = 60
TRIES = 10


class ToolRefused(Exception):
    """A tool refused its arguments, with this text."""


@dataclass
class Tools:
    """The tools of a Space, at the address of its MCP endpoint."""

    url: str
    token: str
    host: str | None = None
    """The host that the server expects, if it differs from the address."""
    client: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=PATIENCE_SECONDS))

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Return a tool's answer. Raises ToolRefused."""
        params = {"name": tool, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        message = self._post(body)
        if "error" in message:
            raise ToolRefused(message["error"]["message"])
        result = message["result"]
        if result.get("isError"):
            raise ToolRefused(result["content"][0]["text"])
        return result["structuredContent"]

    def _post(self, body: dict[str, Any]) -> Any:
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-11-25",
            **({"Host": self.host} if self.host else {}),
        }
        for _ in range(TRIES):
            answer = self.client.post(self.url, json=body, headers=headers)
            if answer.status_code != httpx.codes.TOO_MANY_REQUESTS:
                break
            time.sleep(int(answer.headers.get("Retry-After", "1")))
        answer.raise_for_status()
        return answer.json()


@dataclass(frozen=True)
class Outcome:
    """The outcome of a question."""

    answer: Any
    """The figure, or None."""
    trouble: str | None
    """Why the question has no answer, or a wrong one."""
    tokens: int
    seconds: float


def ask(tools: Tools, question: Question, right: Any) -> Outcome:
    """Ask a question, and compare the figure with the right one."""
    start, answers = time.perf_counter(), list[Any]()
    figure, trouble = None, None
    try:
        for call in question.calls:
            answers.append(tools.call(call.tool, paths.fill_in(call.arguments, answers)))
        if question.refused is not None:
            trouble = "is answered, though it cannot be"
        elif question.reads is not None:
            figure = paths.read(question.reads, answers)
            if not agree(figure, right):
                trouble = f"is {figure!r}, and should be {right!r}"
    except ToolRefused as refusal:
        if question.refused is None or question.refused not in str(refusal):
            trouble = f"is refused: {refusal}"
    except (LookupError, ValueError, TypeError) as error:
        trouble = f"has no answer where it is looked for: {error!r}"
    tokens = sum(len(json.dumps(answer, ensure_ascii=False)) for answer in answers) // 4
    if trouble is None and (len(question.calls) > MOST_CALLS or tokens > MOST_TOKENS):
        trouble = f"takes {len(question.calls)} calls and {tokens} tokens"
    return Outcome(figure, trouble, tokens, time.perf_counter() - start)


def agree(answer: Any, right: Any) -> bool:
    """Return True for equal figures, equal texts, and lists of these. A weekday or an hour may be a number or
    a text, with a leading zero or without.
    """
    if isinstance(answer, list) and isinstance(right, list):
        return len(answer) == len(right) and all(map(agree, answer, right))
    if isinstance(answer, int | float) and isinstance(right, int | float):
        return round(float(answer), 4) == round(float(right), 4)
    if isinstance(answer, int | str) and isinstance(right, int | str):
        texts = [str(answer), str(right)]
        return texts[0] == texts[1] or (all(map(str.isdigit, texts)) and int(answer) == int(right))
    return answer == right
