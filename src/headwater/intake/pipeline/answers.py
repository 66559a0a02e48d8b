"""Reclassify stored answers after a Space's phrases change."""

from __future__ import annotations

from typing import Any

from psycopg import Connection

from headwater.base.failpoints import failpoint
from headwater.database.jobs.duties import SCARCE_SECONDS, Duty
from headwater.events.batch_store import fetch_answers, write_answer_sources
from headwater.intake.pipeline.claim import lock_space
from headwater.spaces.rereadings import advance_rereading, fetch_rereading, finish_rereading, spaces_to_reread

BATCH_ANSWERS = 2_000
"""Small, because the Space is locked."""


def reread_next(connection: Connection[Any], space_id: int, limit: int = BATCH_ANSWERS) -> bool:
    """Return whether any were left. Needs an autocommit connection."""
    with connection.transaction():
        space = lock_space(connection, space_id)
        rereading = fetch_rereading(connection, space_id) if space is not None else None
        if space is None or rereading is None:
            return False
        answers = fetch_answers(connection, space_id, rereading.after_id, rereading.until_id, limit)
        rules = space.answer_rules
        changed_sources = {
            answer.event_id: source
            for answer in answers
            if (source := rules.classify(answer.text)) != answer.source
        }
        write_answer_sources(connection, space_id, changed_sources)
        if len(answers) == limit:
            advance_rereading(connection, space_id, answers[-1].event_id)
        else:
            finish_rereading(connection, space_id)
        failpoint("rereading_before_commit")
    return True


REREADING_DUTY = Duty(
    spaces_to_reread, reread_next, pause_seconds=SCARCE_SECONDS, name="self-reported sources"
)
