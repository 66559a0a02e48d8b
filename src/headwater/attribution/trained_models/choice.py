"""The trained model used for credit: named, or the event name's current one. Every result cites it, to be
reproducible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any

from msgspec import Meta, Struct
from psycopg import AsyncConnection
from psycopg.sql import SQL

from headwater.attribution.models import BILLION, FEWEST_CONVERSIONS, MARKOV, MODELS
from headwater.database.queries import Queries, fetch_all, make_cursor
from headwater.http.answers import Moment
from headwater.http.errors import Invalid
from headwater.http.inputs.fields import line_up_to
from headwater.http.inputs.parameters import Parameter
from headwater.sources.catalogue import SOURCE_IDS

queries = Queries(__name__, "choice.sql")

LONGEST_NAME = 100
PLAIN_NAME = line_up_to(LONGEST_NAME, f"must have 1 to {LONGEST_NAME} printable characters.")
TRAINED_MODEL = Parameter(
    name="trained_model",
    kind=PLAIN_NAME,
    description="The trained model for markov, by name; default the current one.",
)


class NotTrained(Invalid):
    """422: the event names have no current trained model."""

    is_untrained = True


@dataclass(frozen=True)
class ModelChoice:
    name: str | None
    """None for the current one."""
    event_names: tuple[str, ...]
    """Empty means any."""
    trained_model_id: int | None = None

    def parameters(self, space_id: int) -> dict[str, Any]:
        return {
            "space_id": space_id,
            "trained_model_id": self.trained_model_id,
            "name": self.name,
            "event_names": [*self.event_names],
            "model": MARKOV,
            "billion": BILLION,
        }


class TrainedModelCitation(Struct, frozen=True):
    """The trained model that an answer is based on."""

    id: int
    name: str
    event_name: str
    start_at: Moment
    end_at: Annotated[Moment, Meta(description="The first instant after it.")]
    attribution_window: Annotated[int, Meta(description="In days.")]
    conversions: Annotated[
        int, Meta(description=f"Conversions with a touchpoint; at least {FEWEST_CONVERSIONS}.")
    ]
    digest: Annotated[str, Meta(description="SHA-256 of everything the weights are made from.")]


@dataclass(frozen=True)
class ModelIdentity:
    """The name of a trained model, and the data it was trained on."""

    id: int
    name: str
    event_name: str
    start_at: datetime
    end_at: datetime
    """Exclusive."""
    window_days: int
    conversions: int
    """With a touchpoint."""
    digest: str
    """The hexadecimal SHA-256 of the request and the counts."""


@dataclass(frozen=True)
class ChosenModel(ModelIdentity):
    weights_by_source: dict[str, int]
    """In billionths that add up to one billion; sources without a weight are left out."""

    network_numbers: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def weights(self) -> tuple[int, ...]:
        """Weights by source number, from 1."""
        numbers = SOURCE_IDS | self.network_numbers
        weights = [0] * max(numbers.values())
        for source, weight in self.weights_by_source.items():
            weights[numbers[source] - 1] = weight
        return tuple(weights)


def candidates_query(space_id: int, choice: ModelChoice) -> tuple[SQL, dict[str, Any]]:
    return queries["candidates"], choice.parameters(space_id)


async def fetch_chosen(connection: AsyncConnection, space_id: int, choice: ModelChoice) -> ChosenModel:
    """Raises Invalid without a matching model, or with several."""
    return choose(choice, await _candidates(connection, space_id, choice))


async def find_current(connection: AsyncConnection, space_id: int, event_name: str) -> ChosenModel | None:
    current = await _candidates(connection, space_id, ModelChoice(None, (event_name,)))
    return current[0] if current else None


async def find_trained_model(
    connection: AsyncConnection, space_id: int, trained_model_id: int
) -> ChosenModel | None:
    candidates = await _candidates(connection, space_id, ModelChoice(None, (), trained_model_id))
    return candidates[0] if candidates else None


async def _candidates(connection: AsyncConnection, space_id: int, choice: ModelChoice) -> list[ChosenModel]:
    return await fetch_all(make_cursor(connection, ChosenModel), *candidates_query(space_id, choice))


def choose(choice: ModelChoice, candidates: Sequence[ChosenModel]) -> ChosenModel:
    """Raises Invalid with instructions unless there is one candidate."""
    if len(candidates) == 1:
        return candidates[0]
    if choice.name is not None:
        raise _make_refusal("There is no trained model of this name.")
    if candidates:
        names = " and ".join(trained_model.event_name for trained_model in candidates)
        raise _make_refusal(
            f"There are current trained models for {names}: choose one of them, or one event name."
        )
    names = " or ".join(choice.event_names) or "any event"
    rule = (
        f"The model markov needs a trained model: train one for {names} on the page Attribution, with "
        f"POST /trained-models or with headwater model train. It takes {FEWEST_CONVERSIONS} conversions with "
        "a touchpoint."
    )
    raise NotTrained({TRAINED_MODEL.name: [rule]})


def _make_refusal(rule: str) -> Invalid:
    return Invalid({TRAINED_MODEL.name: [rule]})


def is_needed(models: Sequence[str]) -> bool:
    return any(MODELS[model].needs_training for model in models)


ONLY_WITH_MARKOV = "must only be given with markov."


def cite(trained_model: ModelIdentity) -> TrainedModelCitation:
    return TrainedModelCitation(
        id=trained_model.id,
        name=trained_model.name,
        event_name=trained_model.event_name,
        start_at=moment_text(trained_model.start_at),
        end_at=moment_text(trained_model.end_at),
        attribution_window=trained_model.window_days,
        conversions=trained_model.conversions,
        digest=trained_model.digest,
    )


def moment_text(moment: datetime) -> str:
    """Format an instant in UTC, to the second."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
