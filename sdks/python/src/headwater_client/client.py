"""The client, with one connection per thread and retries.

Requests are retried only if that is safe: reads, PUT and DELETE; events with an `idempotency_key`, which
`track` adds; touchpoints and imports, whose repetitions store nothing; and anything refused with 429. A
retried DELETE that finds nothing counts as done, because an earlier attempt did it.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

from headwater_client.api import Accepted, Api, Batch, FileContent, TrackPayload
from headwater_client.errors import ApiError, ConnectionFailedError

PREFIX = "/public-api/v1"
GONE = {"status": 200, "message": "Deleted by an earlier attempt whose response was lost."}
BROKEN = (OSError, http.client.HTTPException)
"""Connection errors."""


@dataclass(frozen=True)
class _Answer:
    status: int
    retry_after: float
    body: bytes


class Client(Api):
    """An API key's access to its Space. Threads may share it."""

    def __init__(  # all have defaults
        self,
        base_url: str,
        key: str,
        *,
        timeout: float = 30.0,
        attempts: int = 6,
        longest_wait: float = 60.0,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """`base_url` is the origin of the installation. `timeout` is per attempt, in seconds. Pauses between
        attempts follow the response's Retry-After or grow, up to `longest_wait`.
        """
        self._origin = urlsplit(base_url)
        self._headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"}
        self._timeout = timeout
        self._attempts = attempts
        self._longest_wait = longest_wait
        self._sleep = sleep
        self._kept = threading.local()

    def track(self, event: TrackPayload) -> Accepted:
        """Send an event, with retries. It is stored once, because it gets an idempotency key unless it has
        one. Raises ApiError, ConnectionFailedError.
        """
        return self.create_event(with_key(event))

    def track_many(self, events: Sequence[TrackPayload]) -> Iterator[dict[str, Any]]:
        """Send events in batches of 1,000, and yield the results in order. Raises ApiError,
        ConnectionFailedError.
        """
        for start in range(0, len(events), 1000):
            batch: Batch = {"events": [with_key(each) for each in events[start : start + 1000]]}
            try:
                answer = self.create_events(batch)
            except ApiError as error:
                if error.status != 422:  # no valid event
                    raise
                results = _refusals(error, len(batch["events"]))
            else:
                results = _results(cast("dict[str, Any]", answer), len(batch["events"]))
            for result in results:
                yield {**result, "index": start + result["index"]}

    def call(self, method: str, path: str, query: Mapping[str, Any], body: Any = None) -> Any:
        """Send a request with retries, and return the response. Raises ApiError, ConnectionFailedError."""
        target = f"{self._origin.path.rstrip('/')}{PREFIX}{path}"
        if parameters := list(flatten(query)):
            target += "?" + urlencode(parameters)
        harmless = method != "POST" or _may_repeat(path, body)
        begin = body.tell() if hasattr(body, "read") else 0
        lost = False
        for attempt in range(1, self._attempts + 1):
            last = attempt == self._attempts
            wait = random.uniform(0.5, 1.0) * 0.25 * 2**attempt  # noqa: S311 # no secret
            if attempt > 1 and hasattr(body, "read"):
                body.seek(begin)
            try:
                answer = self._send(method, target, body, fresh=not harmless)
            except BROKEN as error:
                self.close()
                lost = True
                if last or not harmless:
                    raise ConnectionFailedError(f"{method} {path}: {error!r}") from error
            else:
                if answer.status < 400:
                    return json.loads(answer.body)
                if lost and method == "DELETE" and answer.status == 404:
                    return dict(GONE)
                lost = lost or answer.status >= 500
                repeated = answer.status == 429 or (answer.status >= 500 and harmless)
                if last or not repeated:
                    raise _error(answer)
                wait = max(wait, answer.retry_after)
            self._sleep(min(wait, self._longest_wait))
        raise AssertionError  # the last attempt returns or raises

    def close(self) -> None:
        """Close this thread's connection; the next request opens another."""
        connection: http.client.HTTPConnection | None = getattr(self._kept, "connection", None)
        if connection is not None:
            connection.close()
            self._kept.connection = None

    def _send(self, method: str, target: str, body: Any, *, fresh: bool) -> _Answer:
        """Make one attempt. A `fresh` connection can't have been closed by the server."""
        if fresh:
            self.close()
        connection = self._connection()
        kind, content = _content(body)
        headers = self._headers | ({} if content is None else {"Content-Type": kind})
        connection.request(method, target, content, headers)
        response = connection.getresponse()
        is_bounded = response.chunked or response.length is not None
        answered = response.read()
        if not (is_bounded and response.status >= 400) and not _is_json(answered):
            # The headers are truncated, or a proxy responded.
            raise OSError(f"status {response.status} without a complete response")
        if response.will_close:
            self.close()
        return _Answer(response.status, _seconds(response.getheader("Retry-After")), answered)

    def _connection(self) -> http.client.HTTPConnection:
        kept: http.client.HTTPConnection | None = getattr(self._kept, "connection", None)
        if kept is None:
            secure = self._origin.scheme == "https"
            kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            kept = kind(self._origin.hostname or "", self._origin.port, timeout=self._timeout)
            self._kept.connection = kept
        return kept


def with_key(event: TrackPayload) -> TrackPayload:
    """Return the event with an idempotency key."""
    if event.get("idempotency_key"):
        return event
    return {**event, "idempotency_key": str(uuid.uuid4())}


def flatten(query: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield parameters in the API's form: list items one by one, a condition as `name[0][field]`."""
    for name, value in query.items():
        if value is None:
            continue
        if isinstance(value, bool):
            yield name, "true" if value else "false"
        elif isinstance(value, Sequence) and not isinstance(value, str):
            for number, each in enumerate(cast("Sequence[Any]", value)):
                if isinstance(each, Mapping):
                    for part, text in cast("Mapping[str, Any]", each).items():
                        yield f"{name}[{number}][{part}]", str(text)
                else:
                    yield name, str(each)
        else:
            yield name, str(value)


def _content(body: Any) -> tuple[str, FileContent | None]:
    """Return the content type and body: a file unchanged, anything else as JSON."""
    if isinstance(body, bytes) or hasattr(body, "read"):
        return "text/csv", cast("FileContent", body)
    return "application/json", None if body is None else json.dumps(body).encode()


def _may_repeat(path: str, body: Any) -> bool:
    """Return whether repeating a POST has no further effect."""
    if path == "/events/track":
        return bool(body.get("idempotency_key"))
    if path == "/events/batch":
        return all(event.get("idempotency_key") for event in body["events"])
    return path == "/touchpoints/batch" or path.endswith("/imports")


def _is_json(body: bytes) -> bool:
    """Return whether a body is complete JSON, not truncated or a proxy's."""
    try:
        json.loads(body)
    except ValueError:
        return False
    return True


def _seconds(text: str | None) -> float:
    try:
        return max(0.0, float(text or 0))
    except ValueError:
        return 0.0


def _error(answer: _Answer) -> ApiError:
    try:
        content: dict[str, Any] = json.loads(answer.body)
        return ApiError(answer.status, content["message"], content.get("errors"))
    except (ValueError, TypeError, KeyError):  # a proxy's answer
        return ApiError(answer.status, answer.body[:200].decode(errors="replace"))


def _results(answer: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """Return a batch's results, one per event. A response without them isn't Headwater's."""
    results = cast("list[dict[str, Any]]", answer.get("results", []))
    if len(results) != count:
        raise ConnectionFailedError(f"received {len(results)} results for {count} events")
    return results


def _refusals(error: ApiError, count: int) -> list[dict[str, Any]]:
    """Return results for a batch without valid events, whose errors are at `events.<index>.<field>`."""
    results: list[dict[str, Any]] = [
        {"index": index, "status": "invalid", "errors": {}} for index in range(count)
    ]
    if not error.errors:  # the answer of a proxy
        raise error
    for place, rules in error.errors.items():
        parts = place.split(".", 2)
        if len(parts) < 2 or not parts[1].isdigit():
            raise error
        results[int(parts[1])]["errors"][parts[2] if len(parts) > 2 else ""] = rules
    return results
