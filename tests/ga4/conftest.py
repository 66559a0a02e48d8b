from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import Running
from tests.ga4.desk import Ga4Desk
from tests.support.pipeline import Stage
from tests.support.sites import Site


@pytest.fixture
def desk(server: Running, site: Site, make_key: Callable[..., str]) -> Ga4Desk:
    stage = Stage(site.connection, site.space_id)
    return Ga4Desk(server.base_url, stage, make_key(site.space_id), site)
