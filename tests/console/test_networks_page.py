"""A Space's own paid networks on the pages Sources and Data quality."""

from __future__ import annotations

import html
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from headwater.cli import main
from headwater.console.forms import form_token
from headwater.intake.pipeline.reclassification import reclassify_next
from tests.console.conftest import Person
from tests.support.factories import Stage

NOW = datetime.now(UTC) - timedelta(minutes=2)


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


def send(owner: Person, path: str, **values: str) -> Any:
    token = form_token(owner.form_key, "sources")
    return owner.browser.client.post(path, data={"form_token": token, **values}, follow_redirects=False)


def test_it_works(owner: Person, stage: Stage, space_id: int) -> None:
    """Data quality offers the network, Sources adds it, and past touches are reclassified."""
    base = f"/console/spaces/{space_id}"
    contact = stage.contact(email="a@b.org")
    stage.touchpoint(
        contact, "paid_other", source_rule="paid_medium", occurred_at=NOW,
        url="https://shop.example/?utm_source=taboola&utm_medium=cpc",
    )  # fmt: skip
    page = html.unescape(owner.browser.client.get(f"{base}/data-quality").text)
    link = f"{base}/sources?network=taboola_ads&spelling=taboola#networks"
    assert link in page
    form = html.unescape(owner.browser.client.get(link).text)
    assert 'value="taboola_ads"' in form
    answer = send(owner, f"{base}/sources/network", network="taboola_ads", spellings="tbl, tab")
    assert answer.status_code == 303
    while reclassify_next(stage.connection, space_id):
        pass
    page = owner.browser.client.get(f"{base}/sources").text
    assert "Taboola ads" in page
    assert "tbl, tab" in page
    assert "taboola_ads&spelling" not in owner.browser.client.get(f"{base}/data-quality").text
    assert send(owner, f"{base}/sources/remove-network", network="taboola_ads").status_code == 303
    assert "Taboola ads" not in owner.browser.client.get(f"{base}/sources").text


def test_what_is_refused_is_told(owner: Person, space_id: int) -> None:
    path = f"/console/spaces/{space_id}/sources/network"
    for name in ("Taboola", "google_ads", "fb_ads"):
        answer = send(owner, path, network=name)
        assert answer.status_code == 422
        assert 'id="network-refusal"' in answer.text


def test_at_a_terminal(
    space_id: int, capsys: pytest.CaptureFixture[str], database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    space = ["--space", f"{space_id}", "--json"]
    assert main(["network", "put", "taboola_ads", "--spelling", "tbl", *space]) == 0
    assert main(["network", "list", *space]) == 0
    assert '"taboola"' in capsys.readouterr().out
    assert main(["network", "remove", "taboola_ads", *space]) == 0
    assert main(["network", "remove", "taboola_ads", *space]) != 0
