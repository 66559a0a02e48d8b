"""Watch an address, or change a watched one, with the API's fields. The kind of address decides about the
secrets among them, the kind of import about the settings.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.responses import Response

from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm
from headwater.console.order_pages.upload import KINDS_IN_WORDS
from headwater.console.platform_pages.settings_form import (
    FieldGroup,
    SettingField,
    describe_field,
    read_secrets,
    secret_fields,
    worded,
)
from headwater.console.spend_pages.watched_file import fetch_file
from headwater.console.visits import PageVisit, Refusal, SentForm, SpacePages, list_form_errors
from headwater.database.jobs.due_tasks import AccountKey
from headwater.http.errors import Errors, Invalid
from headwater.intake.imports.formats.amounts import DECIMALS
from headwater.intake.imports.formats.times import DATES
from headwater.intake.imports.kinds import KINDS
from headwater.intake.watched import inputs, watched_files
from headwater.intake.watched.addresses import ADDRESS_KINDS, DATE
from headwater.intake.watched.watched_files import WatchedFileRow
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.settings_input import zone_names

_CREATE = SentForm("watched address", Permission.CHANGE_SETTINGS, once=True, changes=("watched_file",))
_CHANGE = SentForm("watched address", Permission.CHANGE_SETTINGS, changes=("watched_file",))
_NEW_PAGES = SpacePages("/spend/watch")
_PAGES = SpacePages("/spend/watched/{watched_file_id}")
_DEFAULT_SCHEME = "https"
_ESSENTIAL = frozenset({"region", "platform", "currency", "event_name"})
"""Settings that files often need; the others are detected for almost all."""
_DESCRIPTIONS = {
    "columns": "One line for each column that is not recognized: `COLUMN:FIELD`, or `COLUMN:` to ignore it.",
    "decimals": "How the file writes numbers. Detected unless ambiguous.",
    "dates": "How the file writes days. Detected unless ambiguous.",
}
_CHOICES: Mapping[str, Mapping[str, str]] = {"decimals": DECIMALS, "dates": DATES}


@dataclass(frozen=True)
class TypedFile:
    kind: str
    """A key of KINDS."""
    scheme: str
    """A key of ADDRESS_KINDS."""
    name: str = ""
    address: str = ""
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    errors: Errors = field(default_factory=Errors)


@_NEW_PAGES.page("", Permission.CHANGE_SETTINGS)
async def show_new(visit: PageVisit) -> Response:
    query = visit.request.query_params
    kind = _choose(query.get("kind"), KINDS, inputs.DEFAULT_KIND)
    return _render(visit, TypedFile(kind, _choose(query.get("scheme"), ADDRESS_KINDS, _DEFAULT_SCHEME)))


async def _refuse_new(visit: PageVisit, refusal: Refusal) -> Response:
    kind = _choose(visit.form.text("kind"), KINDS, inputs.DEFAULT_KIND)
    return _render(visit, replace(_read_typed(visit.form, kind), errors=list_form_errors(refusal)))


@_NEW_PAGES.action("", _CREATE, _refuse_new)
async def post_new(visit: PageVisit) -> Response:
    typed = _read_typed(visit.form, _choose(visit.form.text("kind"), KINDS, inputs.DEFAULT_KIND))
    members = {"kind": typed.kind, **_list_members(visit.form, typed)}
    if not typed.name:
        del members["name"]
    new = inputs.read_new(members, allows_files=_allows_files(visit))
    key = visit.services.sealing_key
    row = await watched_files.create_watched_file(visit.connection, visit.space.id, new, key)
    return visit.redirect(f"/spend/watched/{row.id}", FlashMessage.ADDRESS_WATCHED)


@_PAGES.page("/settings", Permission.CHANGE_SETTINGS)
async def show_file(visit: PageVisit) -> Response:
    row = await fetch_file(visit)
    current = row.address.partition(":")[0]
    scheme = _choose(visit.request.query_params.get("scheme"), ADDRESS_KINDS, current)
    address = row.address if scheme == current else ""
    return _render(visit, TypedFile(row.kind, scheme, row.name, address, row.settings), row)


async def _refuse_file(visit: PageVisit, refusal: Refusal) -> Response:
    row = await fetch_file(visit)
    return _render(visit, replace(_read_typed(visit.form, row.kind), errors=list_form_errors(refusal)), row)


@_PAGES.action("/settings", _CHANGE, _refuse_file)
async def post_file(visit: PageVisit) -> Response:
    """Change a watched address; an empty secret keeps the stored one of the same host."""
    row = await fetch_file(visit)
    members = _list_members(visit.form, _read_typed(visit.form, row.kind))
    await watched_files.change_watched_file(
        visit.connection,
        AccountKey(visit.space.id, row.id),
        members,
        visit.services.sealing_key,
        allows_files=_allows_files(visit),
    )
    return visit.redirect(f"/spend/watched/{row.id}", FlashMessage.SETTINGS_SAVED)


def _choose(value: str | None, choices: Container[str], default: str) -> str:
    return value if value is not None and value in choices else default


def _allows_files(visit: PageVisit) -> bool:
    return visit.services.settings.watched_dir is not None


def _read_typed(form: PostedForm, kind: str) -> TypedFile:
    scheme = _choose(form.text("scheme"), ADDRESS_KINDS, _DEFAULT_SCHEME)
    settings: dict[str, Any] = {}
    for setting in _setting_fields(kind, scheme, {}):
        if text := form.text(setting.name).strip():
            name = setting.name.removeprefix("settings.")
            settings[name] = text.splitlines() if setting.is_list else text
    return TypedFile(kind, scheme, form.text("name").strip(), form.text("address").strip(), settings)


def _list_members(form: PostedForm, typed: TypedFile) -> dict[str, Any]:
    """Return the members of the API's body. Raise Invalid for another kind of address than the page's, whose
    secrets it didn't ask for.
    """
    kind = ADDRESS_KINDS[typed.scheme]
    if not typed.address.lower().startswith(f"{typed.scheme}://"):
        raise Invalid.of("address", f"must be like {kind.example}.")
    return {
        "name": typed.name,
        "address": typed.address,
        "settings": typed.settings,
        "secrets": read_secrets(form, kind),
    }


def _setting_fields(kind: str, scheme: str, values: Mapping[str, Any]) -> list[SettingField]:
    return [
        _setting_field(parameter.name, inputs.describe_setting(parameter), values)
        for parameter in inputs.list_settings(kind)
        if parameter.name != inputs.REGION.name or scheme == "s3"
    ]


def _setting_field(name: str, schema: Mapping[str, Any], values: Mapping[str, Any]) -> SettingField:
    group = FieldGroup.ACCOUNT if name in _ESSENTIAL else FieldGroup.ADVANCED
    described_field = describe_field(name, schema, values, group)
    choices = dict(described_field.choices)
    if name == "timezone":
        choices = {zone: zone for zone in sorted(zone_names())}
    if choices:
        choices = {"": "Default" if name == "timezone" else "Detected", **choices, **_CHOICES.get(name, {})}
    return replace(
        described_field, choices=tuple(choices.items()), about=_DESCRIPTIONS.get(name, described_field.about)
    )


def _address_field(typed: TypedFile) -> SettingField:
    description = f"`{DATE}` in its path is yesterday's date. For another host, enter the secrets again."
    example = ADDRESS_KINDS[typed.scheme].example
    return SettingField("address", "Address", description, example, FieldGroup.ACCOUNT, True, typed.address)


def _render(visit: PageVisit, typed: TypedFile, row: WatchedFileRow | None = None) -> Response:
    fields = _setting_fields(typed.kind, typed.scheme, typed.settings)
    has_stored_scheme = row is not None and row.address.startswith(f"{typed.scheme}:")
    values: dict[str, Any] = {
        "typed": typed,
        "row": row,
        "stored": row if has_stored_scheme else None,
        "errors": worded(typed.errors),
        "needed": [
            _address_field(typed),
            *(setting_field for setting_field in fields if setting_field.group is FieldGroup.ACCOUNT),
        ],
        "advanced": [
            setting_field for setting_field in fields if setting_field.group is not FieldGroup.ACCOUNT
        ],
        "secrets": secret_fields(ADDRESS_KINDS[typed.scheme]),
        "address_kinds": [
            kind for name, kind in ADDRESS_KINDS.items() if name != "file" or _allows_files(visit)
        ],
        "kinds": {inputs.DEFAULT_KIND: KINDS_IN_WORDS[inputs.DEFAULT_KIND], **KINDS_IN_WORDS},
        "here": visit.path("/spend/watch" if row is None else f"/spend/watched/{row.id}/settings"),
        "connections_path": visit.path("/spend/connections"),
        "once": visit.once(_CREATE.name) if row is None else None,
    }
    return visit.render("watched_form.html", values, 422 if typed.errors else 200)


ROUTES = [*_NEW_PAGES, *_PAGES]
