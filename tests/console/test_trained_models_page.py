"""The pages of trained models: training, the list, weights and the selection; and their mention in
reports.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from headwater.attribution.models import FEWEST_CONVERSIONS
from headwater.attribution.trained_models import store
from headwater.spaces.accounts.roles import Role
from tests.console.conftest import Person
from tests.console.tables import PageTables
from tests.support.factories import NOON, Stage
from tests.support.trained_models import plant_trained_model

MAY = {"name": "May", "event_name": "purchase", "start_date": "2026-05-01",
       "end_date": "2026-05-31", "attribution_window": "30"}  # fmt: skip
BUYERS = 20
OF_MAY = "start_date=2026-05-01&end_date=2026-05-31"


@pytest.fixture
def trainable_space(space_id: int, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """A Space with just enough buyers for a training run."""
    monkeypatch.setattr(store, "FEWEST_CONVERSIONS", BUYERS)
    stage = Stage(connection, space_id, "")
    for number in range(BUYERS):
        contact_id = stage.contact()
        stage.touchpoint(contact_id, "google_ads", occurred_at=NOON - timedelta(days=1))
        if number % 2:
            stage.touchpoint(contact_id, "email", occurred_at=NOON)
        stage.event(contact_id, amount=10)
    return stage


def make(person: Person, space_id: int, **values: str) -> Any:
    page = f"/console/spaces/{space_id}/trained-models"
    return person.browser.fill(page, f"{page}/make", **{**MAY, **values})


def rows(html: str, table: str) -> list[list[str]]:
    return [
        [" ".join(cell.text.split()) for cell in row] for row in PageTables(html).tables.get(table, [])[1:]
    ]


@pytest.mark.usefixtures("trainable_space")
def test_it_works(owner: Person, space_id: int) -> None:
    base = f"/console/spaces/{space_id}"
    page = make(owner, space_id)
    assert "The model is trained." in page.text
    assert "This is the current model for purchase" in page.text
    assert [row[:2] for row in rows(page.text, "shapley_distinct")] == [
        ["Google ads", "75.0 %"], ["E-mail", "25.0 %"],
    ]  # fmt: skip
    [address] = re.findall(r'href="([^"]+/weights.csv)"', page.text)
    lines = owner.browser.get(address).text.splitlines()
    assert lines[0] == "model,source,weight,low,high"
    assert len(lines) == 5
    [model_row] = rows(owner.browser.get(f"{base}/trained-models").text, "listed")
    assert (model_row[0], model_row[2], model_row[5]) == ("May", "1\u201331 May 2026", "current")
    report = owner.browser.get(f"{base}?attribution_model=markov&{OF_MAY}").text
    cohorts = owner.browser.get(f"{base}/cohorts?attribution_model=markov&{OF_MAY}").text
    for text in (report, cohorts):
        assert re.search(r'trained model <a href="[^"]+/trained-models/\d+">May</a> of purchase', text)


@pytest.mark.usefixtures("trainable_space")
def test_only_models_of_purchases_are_trained_by_themselves(owner: Person, space_id: int) -> None:
    make(owner, space_id)
    query = f"attribution_model=markov&conversion=sign_up&{OF_MAY}"
    page = owner.browser.get(f"/console/spaces/{space_id}?{query}").text
    assert "Train one for the selected conversions" in page
    assert (
        "Train one for"
        not in owner.browser.get(f"/console/spaces/{space_id}?{query}".replace("sign_up", "purchase")).text
    )


def test_one_model_is_not_compared(owner: Person, space_id: int) -> None:
    page = owner.browser.get(f"/console/spaces/{space_id}/models?models=linear")
    assert page.status_code == 422
    assert "must be at least 2, to be compared" in page.text


@pytest.mark.usefixtures("trainable_space")
def test_another_is_chosen(owner: Person, space_id: int) -> None:
    make(owner, space_id)
    page = make(owner, space_id, name="June")
    assert "where you choose it" in page.text
    [compared] = re.findall(r'href="([^"]+)">Compare models with this one', page.text)
    beside = owner.browser.get(f"{compared}&{OF_MAY}".replace("&amp;", "&")).text
    assert ">June</a> of purchase" in beside
    model_path = str(page.url.path)
    answer = owner.browser.fill(model_path, f"{model_path}/choose")
    assert "This model is now current" in answer.text
    assert "This is the current model" in answer.text


def test_what_is_wrong_stands_at_its_field(owner: Person, space_id: int) -> None:
    page = make(owner, space_id)
    assert page.status_code == 422
    assert f"training needs {FEWEST_CONVERSIONS}" in page.text
    for field, value in (("name", " "), ("end_date", "2026-04-01"), ("start_date", "x")):
        page = make(owner, space_id, **{field: value})
        assert re.findall(r'id="(\w+)-refusal"', page.text) == [field]
    assert rows(page.text, "listed") == []


def test_without_a_trained_model_a_report_leads_there(owner: Person, space_id: int) -> None:
    base = f"/console/spaces/{space_id}"
    for end in (
        "", "/models", "/events", "/campaigns", "/cohorts", "/changes", "/changes/since",
        "/campaigns/changes", "/completeness", "/self-reported",
    ):  # fmt: skip
        models = "models=markov&models=linear" if end == "/models" else "attribution_model=markov"
        page = owner.browser.get(f"{base}{end}?{models}")
        assert "Not trained yet" in page.text, end
        assert f"Needs {FEWEST_CONVERSIONS} orders with a visit (you have 0)." in page.text
        assert f'href="{base}/trained-models">Train it</a>' in page.text
    query = "attribution_model=markov&measures=credited_revenue&group=source"
    for file in ("report.csv", "events.csv", "campaigns.csv", "cohorts.csv"):
        answer = owner.browser.get(f"{base}/{file}?{query}")
        assert answer.status_code == 422, file
        assert "Markov model needs a trained model" in answer.text, file


def test_automatic_training_explains_its_state(owner: Person, space_id: int, trainable_space: Stage) -> None:
    models_path = f"/console/spaces/{space_id}/trained-models"

    def state() -> str:
        return " ".join(re.sub("<[^>]+>", " ", owner.browser.get(models_path).text).split())

    needed = FEWEST_CONVERSIONS
    assert f"Not trained yet. Needs {needed} orders with a visit (you have 0)." in state()
    assert "Train now" not in state()
    plant_orders(trainable_space, needed - 1)
    assert f"(you have {needed - 1})." in state()
    plant_orders(trainable_space, 1)
    assert "enough orders, but automatic training is off" in state()
    owner.browser.fill(models_path, f"{models_path}/automatic", switch="on")
    assert "training starts next night" in state()
    page = owner.browser.fill(models_path, f"{models_path}/automatic/train")
    assert "This is the current model for purchase" in page.text
    assert re.search(rf"trained on \d+ \w+ \d+ from {needed} orders, next on \d+ \w+ \d+\.", state())
    other_path = str(make(owner, space_id).url.path)
    owner.browser.fill(other_path, f"{other_path}/choose")
    assert "chosen by hand. Automatic models do not replace it" in state()
    owner.browser.fill(models_path, f"{models_path}/automatic", switch="off")
    assert "Automatic training is off." in state()


def plant_orders(stage: Stage, number: int) -> None:
    """Store yesterday's orders, each with a visit."""
    moment = datetime.now(UTC) - timedelta(days=1)
    for _ in range(number):
        contact_id = stage.contact()
        stage.touchpoint(contact_id, "email", occurred_at=moment - timedelta(hours=2))
        stage.event(contact_id, event_time=moment)


def test_a_viewer_makes_none(person: Any, space_id: int, connection: psycopg.Connection) -> None:
    viewer, page = person(Role.VIEWER), f"/console/spaces/{space_id}/trained-models"
    assert f'action="{page}/make"' not in viewer.browser.get(page).text
    trained_model_id = plant_trained_model(connection, space_id, "x", "purchase", {"email": 1}, current=False)
    assert "/choose" not in viewer.browser.get(f"{page}/{trained_model_id}").text
    assert viewer.browser.get(f"{page}/999999").status_code == 404
