from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.conftest import chromium
from tests.conftest import Running
from tests.segment.desk import Desk
from tests.support.pipeline import Stage
from tests.support.sites import Site

__all__ = ["chromium"]


@pytest.fixture
def desk(server: Running, site: Site, make_key: Callable[..., str]) -> Desk:
    stage = Stage(site.connection, site.space_id)
    return Desk(server.base_url, stage, make_key(site.space_id), site)
