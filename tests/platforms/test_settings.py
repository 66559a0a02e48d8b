"""Errors in settings are readable sentences, on every platform."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from headwater.forwarding.destinations.inputs import read_new
from headwater.forwarding.platforms.registry import PLATFORMS
from headwater.http.errors import Invalid
from headwater.http.inputs.account_kinds import VERSION, AccountKind
from headwater.http.inputs.account_settings import describe_rule, read_settings, settings_schema
from headwater.http.inputs.objects import Findings
from headwater.spend.platforms.registry import PLATFORMS as SPEND

SETTINGS = [
    (name, setting) for name, platform in PLATFORMS.items()
    for setting in msgspec.structs.fields(platform.settings)
]  # fmt: skip
EVERY = pytest.mark.parametrize(
    ("name", "field"), SETTINGS, ids=[f"{name}-{setting.name}" for name, setting in SETTINGS]
)
BAD: list[Any] = [[], {}, 1.5, -1, 10**9, "", " ", "no such thing?", "x" * 600, "1\n", "\u0661" * 10]


def faults(name: str, settings: dict[str, Any], event_names: dict[str, str]) -> dict[str, str]:
    body = {"platform": name, "settings": settings, "event_names": event_names}
    with pytest.raises(Invalid) as error_info:
        read_new(body)
    return {field: " ".join(rules) for field, rules in error_info.value.errors.items()}


def test_it_works() -> None:
    settings = {"pixel_id": "abc", "api_version": "25", "data_processing_state": "Texas"}
    messages = faults("meta", settings, {})
    assert messages["settings.pixel_id"] == (
        "The settings.pixel_id must be 5 to 20 digits and nothing else, such as 1234567890123456."
    )
    assert messages["settings.api_version"] == ("The settings.api_version must be a version, such as v1.0.")
    assert messages["settings.data_processing_state"] == (
        "The settings.data_processing_state must be a whole number from 0 to 9999."
    )


@pytest.mark.parametrize(
    "kind", [*PLATFORMS.values(), *SPEND.values()], ids=lambda kind: type(kind).__module__
)
def test_only_a_chosen_version_is_stored(kind: AccountKind) -> None:
    """Other settings are stored with their defaults. An empty version in a form means no version."""
    schema = settings_schema(kind)
    required = {name: schema["properties"][name]["examples"][0] for name in schema.get("required", ())}
    stored_settings = read(kind, {**required, VERSION: ""}, as_text=True)
    assert {*stored_settings, VERSION} == schema["properties"].keys()
    assert VERSION not in stored_settings
    version = kind.find_version(stored_settings)
    assert version == msgspec.convert(stored_settings, kind.settings).api_version
    settings = read(kind, {**stored_settings, VERSION: version})
    assert settings == {**stored_settings, VERSION: version}
    assert kind.find_version(settings) == version


def read(kind: AccountKind, settings: dict[str, Any], *, as_text: bool = False) -> dict[str, Any]:
    findings = Findings()
    stored_settings = read_settings(kind, settings, findings, as_text=as_text)
    assert not findings.rules
    return stored_settings


@EVERY
def test_every_setting_has_a_rule_of_its_own(name: str, field: msgspec.structs.FieldInfo) -> None:
    rule = describe_rule(field.type)
    assert re.fullmatch(r"must be .{5,160}\.", rule)
    assert rule != "must be a text.", f"{name} says nothing of what fits"


@EVERY
@pytest.mark.parametrize("value", BAD, ids=repr)
def test_no_words_of_a_library(name: str, field: msgspec.structs.FieldInfo, value: object) -> None:
    key = f"settings.{field.name}"
    message = faults(name, {field.name: value}, {"purchase": "x" * 300}).get(key)
    if message is None:
        return
    assert message.startswith(f"The {key} must ")
    assert message.endswith(".")
    assert not re.search(r"`|\\|\^|\[|Expected|regex|match|null|`str`|int\b", message), message


@pytest.mark.parametrize("name", ["google", "linkedin"])
def test_ids_of_events(name: str) -> None:
    message = faults(name, {}, {"purchase": "Purchase"})["event_names.purchase"]
    assert message.startswith("The event_names.purchase must be the id of a conversion ")
    assert "1 to 20 digits" in message
    assert "[" not in message


def test_a_number_as_its_platform_writes_it() -> None:
    for platform, setting, number in (
        ("google", "customer_id", "123-456-7890"),
        ("meta", "ad_account_id", "act_1234567890"),
    ):
        assert read(SPEND[platform], {setting: number})[setting] == "1234567890"
