"""The application at its local address, and an assistant's token for it."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from headwater.base.settings import Settings
from tests.conftest import run_application
from tests.mcp.assistants import Assistant, connect
from tests.support.spaces import insert_space


@pytest.fixture(scope="module")
def local_assistant(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assistant]:
    """An assistant of a Space whose base URL is the application's local address."""
    settings = Settings(rate_limit_factor=1000, data_dir=tmp_path_factory.mktemp("local"))
    application = run_application(settings, database_url)
    with psycopg.connect(database_url, autocommit=True) as connection:
        space_id = insert_space(connection)
        with connect(application, connection, space_id) as assistant:
            yield assistant
    application.stop()
