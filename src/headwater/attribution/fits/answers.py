"""API answers about fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from headwater.attribution.fits.choice import moment_text
from headwater.attribution.fits.models import FEWEST_CONVERSIONS, FITTED_MODELS, Fit, FittedWeight
from headwater.http.answers import DataList, Moment


class FitWeight(Struct, frozen=True):
    """The weight of a source under a data-driven model."""

    model: Annotated[str, Meta(extra_json_schema={"enum": list(FITTED_MODELS)})]
    source: str
    weight: Annotated[float, Meta(description="The weights of a model add up to 1.")]
    low: Annotated[float, Meta(description="The lower end of the 95 % interval.")]
    high: Annotated[float, Meta(description="The upper end of the 95 % interval.")]


class FitAnswer(Struct, frozen=True):
    """A fit: the weights of sources, estimated from the journeys of some days."""

    id: int
    name: str
    event_name: str
    start_at: Moment
    end_at: Annotated[Moment, Meta(description="The first instant after it.")]
    attribution_window: Annotated[int, Meta(description="In days.")]
    conversions: Annotated[
        int, Meta(description=f"Conversions with a touchpoint; at least {FEWEST_CONVERSIONS}.")
    ]
    lost: Annotated[int, Meta(description="Contacts with touchpoints and no such conversion.")]
    untouched: Annotated[int, Meta(description="Conversions without a touchpoint, left out.")]
    digest: Annotated[str, Meta(description="SHA-256 of everything the weights are made from.")]
    made_at: Moment
    current: Annotated[bool, Meta(description="True when credit uses it, unless a request names another.")]
    weights: (
        Annotated[
            list[FitWeight], Meta(description="The weights of both models, largest first; absent in lists.")
        ]
        | UnsetType
    ) = UNSET


class FitList(DataList[FitAnswer], frozen=True):
    """All fits."""


def describe_fit(fit: Fit, weights: Sequence[FittedWeight] | None = None) -> FitAnswer:
    return FitAnswer(
        id=fit.id,
        name=fit.name,
        event_name=fit.event_name,
        start_at=moment_text(fit.start_at),
        end_at=moment_text(fit.end_at),
        attribution_window=fit.window_days,
        conversions=fit.conversions,
        lost=fit.lost,
        untouched=fit.untouched,
        digest=fit.digest,
        made_at=moment_text(fit.made_at),
        current=fit.is_current,
        weights=UNSET if weights is None else [_describe_weight(weight) for weight in weights],
    )


def _describe_weight(weight: FittedWeight) -> FitWeight:
    return FitWeight(weight.model, weight.source, float(weight.weight), float(weight.low), float(weight.high))
