"""Forms for the settings that platforms declare. Pure."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from headwater.console.forms import PostedForm
from headwater.http.errors import Errors
from headwater.http.inputs.account_kinds import VERSION, AccountKind
from headwater.http.inputs.account_settings import settings_schema

SETTING, SECRET = "settings.", "secrets."
_WRITTEN = {"api": "API", "id": "ID", "ip": "IP", "json": "JSON", "url": "URL"}
_CONDITIONS = ("consent_", "limited_", "data_processing_")
_CHOICES = {
    ("consent_denied", "limit"): "send them for limited data use",
    ("consent_denied", "skip"): "do not send them",
    ("limited_data_use", "denied"): "people who denied consent",
    ("limited_data_use", "always"): "all events",
}
_YES = "yes"


class FieldGroup(StrEnum):
    ACCOUNT = "account"
    """Required, or needed for tests."""
    CONDITION = "condition"
    """Consent: the data and the people it covers."""
    ADVANCED = "advanced"
    """Everything else; the defaults suit almost all users."""


@dataclass(frozen=True)
class SettingField:
    name: str
    label: str
    about: str
    """Its meaning, and its location on the platform."""
    example: str
    group: FieldGroup
    required: bool
    value: str
    choices: tuple[tuple[str, str], ...] = ()
    """Values and their labels, if the options are limited."""
    is_switch: bool = False
    is_list: bool = False
    """Whether it has a value on each line."""


def make_label(name: str) -> str:
    """Return `Pixel ID` for `pixel_id`."""
    words = " ".join(_WRITTEN.get(word, word) for word in name.split("_"))
    return words[:1].upper() + words[1:]


def setting_fields(platform: AccountKind, values: Mapping[str, Any]) -> list[SettingField]:
    schema = settings_schema(platform)
    required = set(schema.get("required", ()))
    return [
        describe_field(name, member, values, _group(platform, name, name in required), name in required)
        for name, member in cast("dict[str, dict[str, Any]]", schema["properties"]).items()
    ]


def secret_fields(platform: AccountKind) -> list[SettingField]:
    """Return token fields, always empty."""
    return [
        SettingField(
            SECRET + name,
            make_label(name),
            description,
            "",
            FieldGroup.ACCOUNT,
            name not in platform.optional_secrets,
            "",
        )
        for name, description in platform.secrets.items()
    ]


def read_settings(
    form: PostedForm, platform: AccountKind, stored_settings: Mapping[str, Any], groups: Container[FieldGroup]
) -> dict[str, Any]:
    """Return typed values for the form's `groups` of fields, stored values for others."""
    settings = dict(stored_settings)
    for field in setting_fields(platform, stored_settings):
        if field.group in groups:
            name = field.name.removeprefix(SETTING)
            text = form.text(field.name).strip()
            settings[name] = (text == _YES) if field.is_switch else text
    return settings


def read_secrets(form: PostedForm, platform: AccountKind) -> dict[str, str]:
    typed = {name: form.text(SECRET + name).strip() for name in platform.secrets}
    return {name: text for name, text in typed.items() if text}


def worded(errors: Errors) -> Errors:
    """Replace keys by labels: `The pixel ID must …`."""
    return {name: [_worded(name, rule) for rule in rules] for name, rules in errors.items()}


def _worded(name: str, rule: str) -> str:
    prefix = SETTING if name.startswith(SETTING) else SECRET
    label = make_label(name.removeprefix(prefix).removeprefix("event_names."))
    label = label if label[1:2].isupper() else label[:1].lower() + label[1:]
    beginning = f"The {name} "
    return f"The {label} {rule.removeprefix(beginning)}" if rule.startswith(beginning) else rule


def describe_field(
    name: str,
    schema: Mapping[str, Any],
    values: Mapping[str, Any],
    group: FieldGroup,
    is_required: bool = False,
) -> SettingField:
    """Return the field of a setting with a JSON schema."""
    kinds = [schema, *cast("list[dict[str, Any]]", schema.get("anyOf", []))]
    empty: list[Any] = []
    choices: list[Any] = next((kind["enum"] for kind in kinds if "enum" in kind), empty)
    examples: list[Any] = next((kind["examples"] for kind in kinds if "examples" in kind), [""])
    description, value = str(schema.get("description", "")), values.get(name, schema.get("default"))
    is_switch, is_list = schema.get("type") == "boolean", schema.get("type") == "array"
    if name == VERSION:
        # A typed default would be stored, and would keep the account at this version.
        description += f" Empty: {schema['default']}, and newer versions after updates."
        value = values.get(name)
    elif is_list:
        value = "\n".join(value or ())
    return SettingField(
        SETTING + name,
        make_label(name),
        description,
        str(examples[0]),
        group,
        is_required,
        _YES if value is True else "" if value is None or value is False else str(value),
        tuple((value, _CHOICES.get((name, value), str(value))) for value in choices),
        is_switch,
        is_list,
    )


def _group(platform: AccountKind, name: str, is_required: bool) -> FieldGroup:
    if is_required or name == getattr(platform, "test_code", None):
        return FieldGroup.ACCOUNT
    return FieldGroup.CONDITION if name.startswith(_CONDITIONS) else FieldGroup.ADVANCED
