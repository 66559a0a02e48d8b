"""The worker's duty of the pipeline: batches of accepted items become facts."""

from __future__ import annotations

import math
from typing import Any

from psycopg import Connection

from headwater.inbox.notices import CHANNEL
from headwater.inbox.queue import waiting_spaces
from headwater.jobs.duties import Duty
from headwater.merging.merge_alerts import warn_of_burst
from headwater.pipeline.batch_runner import BATCH_ROWS, process_space
from headwater.pipeline.read_ahead import ReadAhead
from headwater.settings import MERGE_ALERT


def make_pipeline_duty(limit: int = BATCH_ROWS, *, merge_alert: int = MERGE_ALERT) -> Duty:
    """Return the duty to process waiting rows, in batches of at most `limit`. `merge_alert` merges
    in an hour raise an alert in a Space.
    """
    read_ahead = ReadAhead()

    def waiting(connection: Connection[Any]) -> list[int]:
        spaces = waiting_spaces(connection)
        read_ahead.keep_only(spaces)
        return spaces

    def attend(connection: Connection[Any], space_id: int) -> bool:
        result = process_space(connection, space_id, limit, read_ahead)
        if result.merges:
            warn_of_burst(connection, space_id, result.merges, merge_alert)
        return result.rows > 0

    # What was accepted goes before all else.
    return Duty(waiting, attend, turn_seconds=math.inf, channel=CHANNEL)
