from __future__ import annotations

from typing import Any

from psycopg import Connection

from headwater.base.settings import MERGE_ALERT
from headwater.database.jobs.duties import Duty
from headwater.intake.inbox.notices import CHANNEL
from headwater.intake.merging.merge_alerts import warn_about_burst
from headwater.intake.pipeline.batch_runner import BATCH_ROWS, process_space
from headwater.intake.pipeline.read_ahead import ReadAhead
from headwater.intake.pipeline.rounds import Rounds

TURN_SECONDS = 1.0
"""Accepted rows take precedence over other jobs."""


def make_pipeline_duty(limit: int = BATCH_ROWS, *, merge_alert: int = MERGE_ALERT) -> Duty:
    """Return the job. `merge_alert` merges in an hour raise an alert."""
    read_ahead = ReadAhead()
    rounds = Rounds(end_round=read_ahead.keep_only)

    def attend(connection: Connection[Any], space_id: int) -> bool:
        result = process_space(connection, space_id, limit, read_ahead)
        if result.merges:
            warn_about_burst(connection, space_id, result.merges, merge_alert)
        if not result.rows:
            rounds.jump()
        return result.rows > 0

    return Duty(rounds.poll, attend, TURN_SECONDS, name="processing", channel=CHANNEL)
