"""`headwater model`: trained weights from a Space's journeys."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from headwater.attribution.models import FEWEST_CONVERSIONS
from headwater.cli import main
from tests.support.factories import NOON, Stage, make_stage

BUYERS, LOST = FEWEST_CONVERSIONS, 40
MAY = ("--event", "purchase", "--start-date", "2026-05-01", "--end-date", "2026-05-31")


@pytest.fixture
def stage(connection: psycopg.Connection) -> Stage:
    stage = make_stage(connection)
    for number in range(BUYERS):
        contact_id = stage.contact()
        stage.touchpoint(contact_id, "google_ads", occurred_at=NOON - timedelta(days=40))
        stage.touchpoint(contact_id, "email", occurred_at=NOON - timedelta(days=2))
        if number % 2:
            stage.touchpoint(contact_id, "direct", occurred_at=NOON)
        stage.event(contact_id, amount=10)
    for _ in range(LOST):
        stage.touchpoint(stage.contact(), "google_ads", occurred_at=NOON)
    stage.event(stage.contact(), amount=10)
    return stage


class Cli:
    """Runs `headwater model` in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str], space_id: int) -> None:
        self._capsys, self._space = capsys, ("--space", str(space_id))

    def __call__(self, verb: str, *arguments: str) -> Any:
        assert main(["model", verb, *self._space, *arguments, "--json"]) == 0
        return json.loads(self._capsys.readouterr().out)

    def refusal(self, verb: str, *arguments: str) -> str:
        assert main(["model", verb, *self._space, *arguments]) == 2
        return self._capsys.readouterr().err


@pytest.fixture
def cli(
    capsys: pytest.CaptureFixture[str], stage: Stage, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> Cli:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    return Cli(capsys, stage.space_id)


def weights(rows: list[dict[str, Any]]) -> dict[tuple[str, str], float]:
    assert all(row["low"] <= row["weight"] <= row["high"] for row in map(numbers, rows))
    return {(row["model"], row["source"]): float(row["weight"]) for row in rows}


def numbers(row: dict[str, Any]) -> dict[str, Any]:
    return row | {name: float(row[name]) for name in ("weight", "low", "high")}


def test_it_works(cli: Cli, stage: Stage) -> None:
    model = cli("train", "--name", "May", *MAY)
    assert weights(model) == {
        ("markov", "email"): pytest.approx(2 / 3), ("markov", "direct"): pytest.approx(1 / 3),
        ("markov", "google_ads"): 0, ("shapley_distinct", "email"): 0.75,
        ("shapley_distinct", "direct"): 0.25, ("shapley_distinct", "google_ads"): 0,
    }  # fmt: skip
    assert cli("show", "--name", "May") == model
    (entry,) = cli("list")
    assert (entry["name"], entry["event_name"], entry["window_days"]) == ("May", "purchase", 30)
    assert (entry["conversions"], entry["lost"], entry["untouched"]) == (BUYERS, LOST, 1)
    assert cli("check", "--name", "May") == {"reproduced": True, "same_data": True}
    stage.touchpoint(stage.contact(), "sms", occurred_at=NOON)
    assert cli("check", "--name", "May") == {"reproduced": True, "same_data": False}
    assert cli("show", "--name", "May") == model
    cli("remove", "--name", "May")
    assert cli("list") == []


@pytest.mark.parametrize(("billionths", "is_reproduced"), [(2, True), (3, False)])
def test_weights_differ_in_their_last_digits(
    cli: Cli, stage: Stage, billionths: int, is_reproduced: bool
) -> None:
    cli("train", "--name", "May", *MAY)
    stage.connection.execute(
        "UPDATE trained_weights SET weight = weight - %s WHERE space_id = %s AND source = 'email'",
        (Decimal(billionths).scaleb(-9), stage.space_id),
    )
    assert cli("check", "--name", "May") == {"reproduced": is_reproduced, "same_data": True}


def test_the_window_counts(cli: Cli) -> None:
    model_weights = weights(cli("train", "--name", "all", *MAY, "--window", "0"))
    assert model_weights["shapley_distinct", "google_ads"] == pytest.approx(5 / 12)
    assert (
        model_weights["markov", "google_ads"]
        == model_weights["markov", "email"]
        > model_weights["markov", "direct"]
    )


def test_bad_options_are_refused(cli: Cli, stage: Stage) -> None:
    stage.connection.execute(
        "UPDATE events SET event_name = 'lead' WHERE space_id = %s AND id ="
        " (SELECT min(id) FROM events WHERE space_id = %s)",
        (stage.space_id, stage.space_id),
    )
    few = cli.refusal("train", "--name", "May", *MAY)
    assert f"purchase has {BUYERS - 1} conversions with a touchpoint" in few
    assert f"training needs {FEWEST_CONVERSIONS}" in few
    assert cli("list") == []
    assert "Trained model not found" in cli.refusal("show", "--name", "May")
    assert "Trained model not found" in cli.refusal("remove", "--name", "May")
    assert "Trained model not found" in cli.refusal("check", "--name", "May")
    assert "--end-date must not be before" in cli.refusal(
        "train", "--name", "x", "--event", "purchase", "--start-date", "2026-05-02", "--end-date",
        "2026-05-01",
    )  # fmt: skip
    assert "YYYY-MM-DD" in cli.refusal(
        "train", "--name", "x", "--event", "purchase", "--start-date", "May", "--end-date", "June"
    )


def test_a_name_is_taken_once(cli: Cli) -> None:
    cli("train", "--name", "May", *MAY)
    assert "There is already a trained model named May." in cli.refusal("train", "--name", "May", *MAY)
    assert len(cli("list")) == 1


def test_another_space_has_its_own(cli: Cli, stage: Stage, connection: psycopg.Connection) -> None:
    other_stage = make_stage(connection)
    cli("train", "--name", "May", *MAY)
    assert main(["model", "show", "--space", str(other_stage.space_id), "--name", "May"]) == 2
    sums = connection.execute(
        "SELECT sum(w.weight) FROM trained_weights w WHERE w.space_id = %s GROUP BY w.model",
        (stage.space_id,),
    ).fetchall()
    assert sums == [(Decimal(1),), (Decimal(1),)]
