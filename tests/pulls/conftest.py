from __future__ import annotations

import pytest

from tests.pulls.staging import Pulls
from tests.support.factories import Stage


@pytest.fixture
def pulls(database_url: str, stage: Stage) -> Pulls:
    return Pulls(database_url, stage)
