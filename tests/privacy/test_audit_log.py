"""The audit log has no personal data, neither while a contact's record is changed nor after the contact is
erased.
"""

from __future__ import annotations

import pytest

from tests.privacy.shop import Shop
from tests.support.audited import last_entry, list_entries
from tests.support.canaries import Canaries, places
from tests.support.factories import Stage
from tests.support.reading_fixtures import Api

TABLES = ("audit_entries", "unsent_audit_entries")


@pytest.fixture
def shop(api: Api, stage: Stage, database_url: str) -> Shop:
    return Shop(api, stage, database_url)


def test_it_works(shop: Shop) -> None:
    """Every API operation that writes personal data is used and recorded."""
    api, personal, before = shop.api, Canaries(), last_entry(shop.stage.connection)
    company = shop.stage.company(name="Acme")
    fields = {"profile_field_1": personal.text("plan")}
    body = {"emails": [personal.email()], "names": [personal.text("name")], "custom_fields": fields}
    answer = api.send("POST", "/contacts", json=body)
    assert answer.status_code == 201, answer.text
    path = f"/contacts/{answer.json()['id']}"
    change = {"emails": [personal.email(), personal.email()], "names": [personal.text("name")]}
    assert api.send("PUT", path, json=change).status_code == 200
    assert api.send("PUT", f"{path}/company", json={"company_id": company}).status_code == 200
    new_columns = {"name": personal.text("acme"), "domain": None}
    assert api.send("PUT", f"/companies/{company}", json=new_columns).status_code == 200
    shop.ask_to_erase(answer.json()["id"])
    actions = [entry["action"] for entry in list_entries(shop.stage.connection, before)]
    assert {"create_contact", "update_contact", "update_company"} <= set(actions)
    assert places(shop.stage, personal, TABLES) == {}
    assert places(shop.stage, personal) != {}
    shop.process()
    assert shop.erase()
    del personal[personal.index(new_columns["name"])]  # the company's
    assert places(shop.stage, personal) == {}
