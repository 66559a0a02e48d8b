"""A drawn example of each attribution model: the credit of four visits before an order."""

from __future__ import annotations

from headwater.attribution.models import MODELS, CreditedTouches, Model, Spread
from headwater.sources.catalogue import SOURCE_IDS

EXAMPLE = ("google_ads", "email", "facebook_ads", "direct")
"""The sources of the visits, oldest first."""
_IDS = tuple(SOURCE_IDS[source] for source in EXAMPLE)
_PARTS = {
    Spread.U_SHAPED: (40, 10, 10, 40),
    Spread.BY_AGE: (10, 17, 28, 45),
    Spread.BY_SOURCE: (25, 25, 25, 25),
}
_TRAINED = (35, 20, 40, 5)
"""Weights as a trained model may have them."""


def draw_credit(name: str) -> tuple[int, ...]:
    """Return the credit of each visit in per cent."""
    model = MODELS[name]
    counted_visits = _count_visits(model)
    if model.take is CreditedTouches.FIRST:
        credited_visits = counted_visits[:1]
    elif model.take is CreditedTouches.LAST:
        credited_visits = counted_visits[-1:]
    else:
        parts = _TRAINED if model.needs_training else _PARTS.get(model.share.spread)
        if parts is not None:
            return parts
        credited_visits = counted_visits
    return tuple(
        100 // len(credited_visits) if visit in credited_visits else 0 for visit in range(len(EXAMPLE))
    )


def _count_visits(model: Model) -> list[int]:
    for condition in model.counting:
        counted_visits = [visit for visit, source in enumerate(_IDS) if source in condition.source_ids]
        if counted_visits:
            return counted_visits
    return []


EXAMPLES = {name: draw_credit(name) for name in MODELS}
