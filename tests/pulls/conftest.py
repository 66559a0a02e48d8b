from __future__ import annotations

import pytest

from tests.pulls.staging import Pulls
from tests.support.factories import Stage


@pytest.fixture
def pulls(database_url: str, stage: Stage) -> Pulls:
    """Pulls of a Space. Connections of other tests are paused, because they may also be due."""
    stage.connection.execute(
        "UPDATE spend_connections SET status = 'paused' WHERE space_id <> %s", (stage.space_id,)
    )
    return Pulls(database_url, stage)
