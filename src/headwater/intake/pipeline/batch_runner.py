"""Run one batch per transaction, and isolate rows that fail."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from typing import Any

import psycopg
import structlog
from prometheus_client import Counter, Histogram
from psycopg import Connection

from headwater.attribution.history.revisions import DRAW_REVISION
from headwater.base.failpoints import failpoint
from headwater.base.telemetry.counters import make_counter
from headwater.base.telemetry.spans import span
from headwater.database.jobs.connection import WorkerConnection, is_transient
from headwater.intake.inbox.queue import delete_rows, request_versions
from headwater.intake.inbox.rejected import reject_rows
from headwater.intake.inbox.rows import Rejection, RejectReason
from headwater.intake.pipeline.batch import Batch, BatchResult
from headwater.intake.pipeline.batch_loader import (
    load_contacts,
    load_existing,
    load_paths,
    load_visits,
    request_numbers,
)
from headwater.intake.pipeline.batch_writer import (
    empty_inbox,
    forward_events,
    keep_history,
    note_changed_paths,
    write_contacts,
    write_duplicates,
    write_events,
    write_merges,
    write_page_views,
    write_refunds,
    write_touchpoints,
)
from headwater.intake.pipeline.claim import claim
from headwater.intake.pipeline.duplicates import drop_duplicates, drop_repeated_page_views
from headwater.intake.pipeline.read_ahead import NOTHING_AHEAD, ReadAhead, do_nothing
from headwater.intake.pipeline.refunds import settle_refunds
from headwater.intake.pipeline.steps import (
    describe_contacts,
    group_companies,
    match_and_merge,
    parse,
    read_views,
    settle,
    walk_paths,
)

BATCH_ROWS = 2000

log = structlog.get_logger()
processed_rows = make_counter(
    "headwater_processed_rows",
    "Rows taken from the queue and processed",
    outcome=("taken", "duplicate", "rejected"),
)
failed_batches = Counter("headwater_failed_batches", "Batches with a faulty row")
merges = Counter("headwater_merges", "Contacts merged into another")
batch_seconds = Histogram(
    "headwater_batch_seconds", "Time of one batch", buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
)


def process(connection: Connection[Any], batch: Batch, meanwhile: Callable[[], None] = do_nothing) -> None:
    """Run all steps, in the caller's transaction. `meanwhile` runs while PostgreSQL is busiest."""
    parse(batch.parsed, batch.unparsed)
    load_existing(connection, batch)
    drop_duplicates(batch)
    drop_repeated_page_views(batch)

    load_contacts(connection, batch)
    match_and_merge(batch)
    settle_refunds(batch)
    read_views(batch)
    describe_contacts(batch)
    group_companies(batch)

    assign_ids = request_numbers(connection, batch)  # drawn during the next read
    load_visits(connection, batch)
    load_paths(connection, batch)
    assign_ids()
    walk_paths(batch)
    settle(batch)

    connection.execute(DRAW_REVISION, {"space_id": batch.space.id})
    write_merges(connection, batch)
    write_contacts(connection, batch)
    meanwhile()  # writing identifiers takes PostgreSQL longest
    write_touchpoints(connection, batch)
    write_page_views(connection, batch)
    write_events(connection, batch)
    write_refunds(connection, batch)
    note_changed_paths(connection, batch)
    keep_history(connection, batch)
    forward_events(connection, batch)
    write_duplicates(connection, batch)
    empty_inbox(connection, batch)


def run_batch(
    connection: Connection[Any],
    space_id: int,
    limit: int = BATCH_ROWS,
    ids: list[int] | None = None,
    read_ahead: ReadAhead = NOTHING_AHEAD,
) -> BatchResult:
    """Process the oldest rows, or `ids`, in one transaction; parse the next rows meanwhile."""
    started_at = time.perf_counter()
    with (
        span("pipeline batch", {"headwater.space_id": space_id}) as batch_span,
        connection.pipeline(),
        connection.transaction(),
    ):
        batch = claim(connection, space_id, limit, ids, read_ahead.take(connection, space_id))
        if batch is None:
            return BatchResult(skipped=1)
        if not batch.arrivals:
            return BatchResult()
        failpoint("worker_after_claim")
        process(connection, batch, read_ahead.request(connection, batch, limit))
        batch_span.note("headwater.rows", len(batch.arrivals))
        failpoint("worker_before_commit")
    failpoint("worker_after_commit")
    result = _make_result(batch)
    seconds = time.perf_counter() - started_at
    batch_seconds.observe(seconds)
    _count(result)
    log.debug(
        "batch processed",
        space_id=space_id,
        rows=result.rows,
        stored=result.stored,
        seconds=round(seconds, 4),
    )
    return result


def _count(result: BatchResult) -> None:
    processed_rows.labels("taken").inc(result.rows - result.duplicates - result.rejected)
    processed_rows.labels("duplicate").inc(result.duplicates)
    processed_rows.labels("rejected").inc(result.rejected)
    merges.inc(result.merges)


def _make_result(batch: Batch) -> BatchResult:
    return BatchResult(
        rows=len(batch.arrivals),
        stored=sum(item.is_stored for item in batch.items),
        duplicates=len(batch.duplicates),
        rejected=len(batch.rejections),
        contacts=len(batch.directory.created),
        merges=len(batch.directory.merges),
        touchpoints=sum(item.touch is not None for item in batch.items)
        + sum(view.is_touch and not view.was_touch for view in batch.views.values()),
    )


def process_space(
    connection: Connection[Any], space_id: int, limit: int = BATCH_ROWS, read_ahead: ReadAhead = NOTHING_AHEAD
) -> BatchResult:
    """Process a batch. If it fails, reject the faulty rows."""
    try:
        result = run_batch(connection, space_id, limit, read_ahead=read_ahead)
    except Exception as error:
        if is_transient(error):
            raise
        failed_batches.inc()
        log.warning("batch failed", space_id=space_id, error=describe(error))
    else:
        if isinstance(connection, WorkerConnection):
            connection.count_rows(result.rows)
        return result
    versions = request_versions(connection, space_id, limit)()
    return _isolate(connection, space_id, [row_id for row_id, _ in versions])


def _isolate(connection: Connection[Any], space_id: int, ids: list[int]) -> BatchResult:
    """Halve the batch until failing rows are alone."""
    try:
        return run_batch(connection, space_id, ids=ids)
    except Exception as error:
        if is_transient(error):
            raise
        if len(ids) == 1:
            return _reject(connection, space_id, ids[0], describe(error))
    middle = len(ids) // 2
    first = _isolate(connection, space_id, ids[:middle])
    if first.skipped:
        return first
    return first + _isolate(connection, space_id, ids[middle:])


def _reject(connection: Connection[Any], space_id: int, row_id: int, detail: str) -> BatchResult:
    with connection.transaction():
        batch = claim(connection, space_id, 1, [row_id])
        if batch is None:
            return BatchResult(skipped=1)
        rejection = Rejection(row_id, RejectReason.PROCESSING_ERROR, detail)
        reject_rows(connection, space_id, [rejection])
        delete_rows(connection, space_id, [row_id])
    log.error("row rejected", space_id=space_id, row=row_id, detail=detail)
    result = BatchResult(rows=1, rejected=1)
    _count(result)
    return result


def describe(error: Exception) -> str:
    """Describe an error without the data that caused it."""
    if isinstance(error, psycopg.Error):
        name = error.diag.constraint_name or error.diag.column_name or ""
        return f"{type(error).__name__} {error.sqlstate or ''} {name}".strip()
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {frame.name}"
