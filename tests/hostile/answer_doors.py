"""Readers of people's answers to how they heard of the business, and of the related settings."""

from __future__ import annotations

from headwater.sources.answers import AnswerRules, normalize_phrase
from headwater.spaces.settings_input import SETTINGS
from tests.hostile.growth import Door

ANSWER, SETTING = 2048, 1024

ANSWER_DOORS = [
    Door("answers.source_of", AnswerRules({"the radio": "radio"}).classify, ANSWER),
    Door("answers.words_of", normalize_phrase, SETTING),
    Door("settings.cost_rate", SETTINGS["cost_rate"], SETTING),
    Door("settings.page_view_days", SETTINGS["page_view_days"], SETTING),
]
