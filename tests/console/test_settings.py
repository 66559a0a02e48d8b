"""The settings page: only changed fields are saved, all or nothing, by permitted members."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headwater.console.forms import form_token
from headwater.console.link_pages.source_changes import HOST_LISTS
from headwater.console.space_settings import OFFERED, OPERATORS
from headwater.spaces.accounts.roles import Role
from headwater.spaces.models import Space
from headwater.spaces.settings_input import SETTINGS
from headwater.spaces.spaces import fetch_space
from tests.console.browsing import Forms
from tests.console.conftest import Person
from tests.support.accounts import Accounts


def make_page(space_id: int) -> str:
    return f"/console/spaces/{space_id}/settings"


@pytest.fixture
def space(accounts: Accounts, space_id: int) -> Callable[[], Space]:
    return lambda: accounts.run(lambda c: fetch_space(c, space_id))


def test_it_works(owner: Person, space: Callable[[], Space], space_id: int) -> None:
    page = make_page(space_id)
    form_values = {
        "name": "Größer & Co", "timezone": "Europe/Berlin", "currency": "eur",
        "company_identity_mode": "external_id", "phone_region": "de", "ad_consent": "granted",
        "half_life_days": "30", "page_view_days": "400", "inactive_contact_days": "365",
        "delivery_days": "90", "log_days": "60", "ignored_identifiers": "a@b.c",
        "event_label.custom_event_50": "Demo", "field_label.profile_field_1": "Plan",
    }  # fmt: skip
    save_page = owner.browser.fill(page, page, **form_values)
    assert "The settings are saved." in save_page.text
    after = space()
    assert (after.name, after.timezone, after.currency) == ("Größer & Co", "Europe/Berlin", "EUR")
    assert (after.company_identity_mode, after.phone_region) == ("external_id", "DE")
    assert (after.half_life_days, after.page_view_days) == (30, 400)
    assert (after.inactive_contact_days, after.delivery_days, after.log_days) == (365, 90, 60)
    assert after.event_labels == {"custom_event_50": "Demo"}
    assert after.field_labels == {"profile_field_1": "Plan"}
    second_answer = owner.browser.fill(page, page)
    assert "Nothing was changed." in second_answer.text
    assert space() == after
    empty_values = {
        "phone_region": "",
        "page_view_days": "",
        "log_days": "",
        "event_label.custom_event_50": "",
    }
    owner.browser.fill(page, page, **empty_values)
    assert (space().phone_region, space().page_view_days, space().log_days) == (None, None, None)
    assert space().event_labels == {}


def test_an_old_form_keeps_what_another_has_changed(
    owner: Person, space: Callable[[], Space], space_id: int
) -> None:
    """Two tabs: the second saves another field, once refused, and has not seen the changes of the first."""
    page = make_page(space_id)
    old_form = owner.browser.form(page, page)
    owner.browser.fill(page, page, name="New name", page_view_days="400")
    refused_page = owner.browser.send(old_form, currency="EURO")
    assert refused_page.status_code == 422
    (refused_form,) = [form for form in Forms(refused_page.text).forms if form.action == page]
    assert "The settings are saved." in owner.browser.send(refused_form, currency="EUR").text
    assert (space().name, space().page_view_days, space().currency) == ("New name", 400, "EUR")


def test_all_or_nothing(owner: Person, space: Callable[[], Space], space_id: int) -> None:
    page, before = make_page(space_id), space()
    bad = {"currency": "EURO", "timezone": "Mars",
           "event_label.custom_event_2": "x" * 256}  # fmt: skip
    answer = owner.browser.fill(page, page, name="New name", **bad)
    assert answer.status_code == 422
    assert answer.text.count('class="refusal"') == len(bad)
    assert 'value="New name"' in answer.text
    assert "Nothing was saved" in answer.text
    assert "Must be an IANA time zone" in answer.text
    assert "timezone:" not in answer.text, "keys are not for people"
    assert space() == before


@pytest.mark.parametrize("role", list(Role))
def test_who_may(
    person: Callable[..., Person], space: Callable[[], Space], space_id: int, role: Role
) -> None:
    person(Role.OWNER)
    visitor = person(role)
    data = {"form_token": form_token(visitor.form_key, "settings"), "name": "Changed"}
    answer = visitor.browser.client.post(make_page(space_id), data=data)
    is_allowed = role is not Role.VIEWER
    assert answer.status_code == (303 if is_allowed else 403)
    assert (space().name == "Changed") == is_allowed
    assert ("Save settings" in visitor.browser.get(make_page(space_id)).text) == is_allowed


def test_the_operators_are_not_for_members(owner: Person, space: Callable[[], Space], space_id: int) -> None:
    page, before = make_page(space_id), space()
    form = owner.browser.form(page, page)
    form_values = {"subscription": "inactive", "limit.track": "5", "unknown": "x"}
    assert "Nothing was changed." in owner.browser.send(form, **form_values).text
    assert space() == before
    assert {*OFFERED, *OPERATORS, *HOST_LISTS} == set(SETTINGS)
    assert set(OFFERED) <= {name for name, _ in form.fields}
