"""API answers about trained models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict

from headwater.attribution.models import DATA_DRIVEN_MODELS
from headwater.attribution.trained_models.choice import TrainedModelCitation, cite, moment_text
from headwater.attribution.trained_models.models import TrainedModel, TrainedWeight
from headwater.http.answers import DataList, Moment


class TrainedModelWeight(Struct, frozen=True):
    """The weight of a source under a data-driven model."""

    model: Annotated[str, Meta(extra_json_schema={"enum": list(DATA_DRIVEN_MODELS)})]
    source: str
    weight: Annotated[float, Meta(description="The weights of a model add up to 1.")]
    low: Annotated[float, Meta(description="The lower end of the 95 % interval.")]
    high: Annotated[float, Meta(description="The upper end of the 95 % interval.")]


class TrainedModelAnswer(TrainedModelCitation, frozen=True):
    """A trained model: the weights of sources, estimated from the journeys of some days."""

    lost: Annotated[int, Meta(description="Contacts with touchpoints and no such conversion.")]
    untouched: Annotated[int, Meta(description="Conversions without a touchpoint, left out.")]
    made_at: Moment
    current: Annotated[bool, Meta(description="True when credit uses it, unless a request names another.")]
    weights: (
        Annotated[
            list[TrainedModelWeight],
            Meta(description="The weights of both models, largest first; absent in lists."),
        ]
        | UnsetType
    ) = UNSET


class TrainedModelList(DataList[TrainedModelAnswer], frozen=True):
    """All trained models."""


def describe_trained_model(
    trained_model: TrainedModel, weights: Sequence[TrainedWeight] | None = None
) -> TrainedModelAnswer:
    return TrainedModelAnswer(
        **asdict(cite(trained_model)),
        lost=trained_model.lost,
        untouched=trained_model.untouched,
        made_at=moment_text(trained_model.made_at),
        current=trained_model.is_current,
        weights=UNSET if weights is None else [_describe_weight(weight) for weight in weights],
    )


def _describe_weight(weight: TrainedWeight) -> TrainedModelWeight:
    return TrainedModelWeight(
        weight.model, weight.source, float(weight.weight), float(weight.low), float(weight.high)
    )
