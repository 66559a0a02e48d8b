"""Events in batches: keys that make repetitions harmless, and a result per event."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headwater_client.api import Batch, BatchAccepted, ItemResult, TrackPayload
from headwater_client.errors import ApiError, ConnectionFailedError

BATCH_EVENTS = 1000


def add_key(event: TrackPayload) -> TrackPayload:
    """Return the event with an idempotency key."""
    if event.get("idempotency_key"):
        return event
    return {**event, "idempotency_key": str(uuid.uuid4())}


@dataclass(frozen=True)
class EventBatch:
    """A batch of events, and the index of the first."""

    start: int
    body: Batch

    def read_results(self, answer: BatchAccepted) -> list[ItemResult]:
        """Return a result per event. A response without them isn't Headwater's: ConnectionFailedError."""
        results = answer.get("results", [])
        count = len(self.body["events"])
        if len(results) != count:
            raise ConnectionFailedError(f"received {len(results)} results for {count} events")
        return [self._shift(result) for result in results]

    def halves(self) -> list[EventBatch]:
        """Return the batch in two parts."""
        events = self.body["events"]
        middle = len(events) // 2
        return [
            EventBatch(self.start, {"events": events[:middle]}),
            EventBatch(self.start + middle, {"events": events[middle:]}),
        ]

    def is_too_large(self, error: ApiError) -> bool:
        """Return whether the body was too large, and a smaller batch is possible."""
        return error.status == 413 and len(self.body["events"]) > 1

    def read_refusals(self, error: ApiError) -> list[ItemResult]:
        """Return results for a batch without valid events, whose errors are at `events.<index>.<field>`.
        Raises any other error.
        """
        if error.status != 422 or not error.errors:
            raise error
        fields: list[dict[str, list[str]]] = [{} for _ in self.body["events"]]
        for place, rules in error.errors.items():
            parts = place.split(".", 2)
            if len(parts) < 2 or not parts[1].isdigit() or int(parts[1]) >= len(fields):
                raise error
            fields[int(parts[1])][parts[2] if len(parts) > 2 else ""] = list(rules)
        return [
            self._shift({"index": index, "status": "invalid", "errors": errors})
            for index, errors in enumerate(fields)
        ]

    def _shift(self, result: ItemResult) -> ItemResult:
        return {**result, "index": self.start + result["index"]}


def make_batches(events: Sequence[TrackPayload]) -> Iterator[EventBatch]:
    """Yield batches of the size that the API accepts."""
    for start in range(0, len(events), BATCH_EVENTS):
        batch = events[start : start + BATCH_EVENTS]
        yield EventBatch(start, {"events": [add_key(event) for event in batch]})
