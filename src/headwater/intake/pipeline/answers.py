"""The worker's duty to read stored answers anew by a Space's changed phrases: piece by piece, each
in a transaction under the Space's lock, which also writes down how far it is.
"""

from __future__ import annotations

from typing import Any

from psycopg import Connection

from headwater.base.failpoints import failpoint
from headwater.database.jobs.duties import SCARCE_SECONDS, Duty
from headwater.events.batch_store import fetch_answers, write_answer_sources
from headwater.intake.pipeline.claim import lock_space
from headwater.spaces.rereadings import advance_rereading, fetch_rereading, finish_rereading, spaces_to_reread

MOST_ANSWERS = 2_000
"""The answers of a piece: the Space is locked meanwhile."""


def reread_next(connection: Connection[Any], space_id: int, most: int = MOST_ANSWERS) -> bool:
    """Read the next stored answers of a Space by its rules as they are now. Returns whether there
    was anything to do. Needs a connection in autocommit.
    """
    with connection.transaction():
        space = lock_space(connection, space_id)
        left = fetch_rereading(connection, space_id) if space is not None else None
        if space is None or left is None:
            return False
        answers = fetch_answers(connection, space_id, left.after_id, left.until_id, most)
        rules = space.answer_rules
        changed = {
            answer.event_id: source
            for answer in answers
            if (source := rules.source_of(answer.text)) != answer.source
        }
        write_answer_sources(connection, space_id, changed)
        if len(answers) == most:
            advance_rereading(connection, space_id, answers[-1].event_id)
        else:
            finish_rereading(connection, space_id)
        failpoint("rereading_before_commit")
    return True


REREADING_DUTY = Duty(
    spaces_to_reread, reread_next, pause_seconds=SCARCE_SECONDS, name="self-reported sources"
)
"""The worker's duty to apply changed phrases of answers to the past."""
