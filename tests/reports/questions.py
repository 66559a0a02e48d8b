"""Random questions with the API's parameter names."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from headwater.attribution.models import MODELS, WINDOWS
from tests.reports.histories import NAMES, SOURCES
from tests.reports.playing import TRAINED_MODELS
from tests.support.report_model.question import GROUPS, MEASURES, NOT_ADDING_UP, read_question

TRAINED_MODEL_NAMES = tuple(name for name, *_ in TRAINED_MODELS)
PERIODS = (
    *[("2026-01-01 00:00:00", "2026-12-31 23:59:59")] * 3,
    *[("2025-01-01 00:00:00", "2026-12-31 23:59:59")] * 3,
    ("2026-04-01 00:00:00", "2026-06-30 23:59:59"),
    ("2026-03-01 00:00:00", "2026-03-31 23:59:59"),
    ("2026-04-01 00:00:00", "2026-04-30 23:59:59"),
    ("2026-03-29 02:30:00", "2026-03-30 01:00:00"),
    ("2026-03-20 00:00:00", "2026-04-03 23:59:59"),
    *[("2026-10-25 00:00:00", "2026-10-25 02:30:00")] * 2,
)


def some_question(dice: Random) -> dict[str, Any]:
    """Return a valid random question."""
    while True:
        question = _draw_question(dice)
        model_question = read_question(question)
        if model_question.refusal() is None:
            return question


def some_period(dice: Random) -> dict[str, Any]:
    """Return the period of a question."""
    start, end = dice.choice(PERIODS)
    return {"start_date": start, "end_date": end}


def _draw_question(dice: Random) -> dict[str, Any]:
    period = some_period(dice)
    measures = dice.sample(MEASURES, dice.randint(1, min(6, len(MEASURES))))
    groups = dice.sample(GROUPS, dice.choice((0, 1, 1, 1, 2, 2)))
    models = dice.sample(sorted(MODELS), dice.choice((1, 1, 2)))
    if len(models) > 1 and dice.random() < 0.7:
        measures = [name for name in measures if "credited" in name or "touched" in name]
        measures = [*dict.fromkeys([*measures, "credited_revenue"])]
    if "share" in measures and dice.random() < 0.8:
        measures.sort(key=lambda name: name in NOT_ADDING_UP)
    question: dict[str, Any] = {
        "measures": measures, "group_by": groups, **period,
        "attribution_models": models, "attribution_window": dice.choice(WINDOWS),
        "query_mode": dice.choice(("profile", "company")),
        "compare": dice.choice(("none", "none", "previous_period", "previous_year")),
        "limit": dice.choice((1, 3, 200)),
    }  # fmt: skip
    if dice.random() < 0.3:
        question["order_by"] = dice.choice([*measures, *groups])
    question |= _some_filters(dice)
    if "markov" in models and (names_no_trained_model(question) or dice.random() < 0.5):
        question["trained_model"] = dice.choice(TRAINED_MODEL_NAMES)
    return question


def keep_one_model(question: dict[str, Any]) -> dict[str, Any]:
    """Return the question with only the first of its models, and with its trained model if that model needs
    one.
    """
    models = question["attribution_models"][:1]
    parameters = {
        name: value for name, value in question.items() if name != "trained_model" or "markov" in models
    }
    return {**parameters, "attribution_models": models}


def names_no_trained_model(question: dict[str, Any]) -> bool:
    """Return True unless the question's event names match exactly one current trained model."""
    names = question.get("event_names", ())
    return sum(event_name in names for _, event_name, _ in TRAINED_MODELS) != 1


def _some_filters(dice: Random) -> dict[str, Any]:
    filters = some_event_filters(dice)
    if dice.random() < 0.2:
        filters["sources"] = dice.sample(SOURCES, 3)
    if dice.random() < 0.25:
        filters["campaign"] = dice.choice(("SPRING", "S", "11", "& s", "%", "ZEBRA", "aardvark", "r", "ÉTÉ"))
    if dice.random() < 0.2:
        filters["date_basis"] = "touch"
    if dice.random() < 0.25:
        filters["only"] = [*filters.get("only", ()), *some_keys(dice, KEYS_OF_TOUCHES)]
    return filters


def some_keys(dice: Random, keys: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return conditions on one or two groups, with one or two keys each."""
    groups = dice.sample(sorted(keys), dice.choice((1, 1, 2)))
    return [f"{name}:{key}" for name in groups for key in dice.sample(keys[name], dice.randint(1, 2))]


def some_event_filters(dice: Random) -> dict[str, Any]:
    """Return conditions on events, often none."""
    filters: dict[str, Any] = {}
    if dice.random() < 0.15:
        filters["event_names"] = sorted(set(dice.sample(NAMES, 2)))
    if dice.random() < 0.1:
        filters["custom_field_filters"] = [dice.choice(CONDITIONS)]
    if dice.random() < 0.1:
        filters["amount_min"] = dice.choice((-30, 0, 0.01, 33.333))
    if dice.random() < 0.1:
        upper_bound = dice.choice((-0.0003, 0, 99.9999, 100))
        filters["amount_max"] = max(upper_bound, filters.get("amount_min", upper_bound))
    if dice.random() < 0.2:
        filters["only"] = some_keys(dice, KEYS_OF_EVENTS)
    return filters


KEYS_OF_TOUCHES = {
    "source": SOURCES, "platform": ("google", "meta", "tiktok", "microsoft"),
    "channel": ("paid", "ai", "organic", "direct", "sms"),
    "campaign": ("11", "12", "Spring", "Été", ""), "adset": ("5", ""), "ad": ("Blue", ""),
    "keyword": ("boots", ""), "landing_page": ("https://a.example/x/", "https://a.example/x", ""),
}  # fmt: skip
KEYS_OF_EVENTS = {
    "event": tuple(sorted(set(NAMES))), "kind": ("order", "conversion", "refund", "sale", ""),
    "country": ("DE", "FR", "de", ""), "company": ("", "0"),
    "contact": ("", "x"), "customer": ("new", "returning", "", "both"),
    "self_reported_source": ("word_of_mouth", "tiktok", "other", "", "pigeon"),
    "day": ("2026-03-29", "2026-04-01", "2026-10-25", "2026-3-29"),
    "week": ("2026-03-23", "2026-03-30", "2026-03-31"), "month": ("2026-03", "2026-04", ""),
    "path": (
        "direct", "email > direct", "google_ads", "taboola_ads", "criteo_ads > direct",
        "direct > direct", "+1", "",
    ),
    "channel_path": ("paid", "email > direct", "paid > email", ""),
    "first_source": ("google_ads", "taboola_ads", "direct", ""),
    "last_source": ("email", "direct", "criteo_ads", "yelp"),
    "touch_range": ("1", "2", "6-10", "7", ""), "days_range": ("0", "1", "90+", ""),
    "weekday": ("1", "7", "2", "07"), "hour": ("00", "02", "03", "22", "2"),
}  # fmt: skip


CONDITIONS: tuple[dict[str, str], ...] = (
    {"field": "profile_field_1", "operator": "equal_to", "value": "gold"},
    {"field": "profile_field_1", "operator": "not_equal_to", "value": "gold"},
    {"field": "profile_field_1", "operator": "contains", "value": "l"},
    {"field": "profile_field_1", "operator": "unknown"},
    {"field": "profile_field_16", "operator": "greater_than", "value": "1"},
    {"field": "profile_field_16", "operator": "any"},
    {"field": "profile_field_16", "operator": "unknown"},
)
