"""Tools for companies answer and act like the API."""

from __future__ import annotations

from tests.mcp.assistants import Assistant, tool_rows
from tests.support.factories import Stage
from tests.support.reading_fixtures import RANGE, Api


def test_it_works(assistant: Assistant, stage: Stage, api: Api) -> None:
    company_id = stage.company(domain="acme-x.com", external_id="a1")
    expected = api.get(f"/companies/{company_id}").json()
    assert assistant.call("get_company", company_id=company_id) == expected
    assert "list_companies" in assistant.refusal("get_company", company_id=999_999_999_999)


def test_lists_are_those_of_the_api(assistant: Assistant, stage: Stage, api: Api) -> None:
    for n in range(3):
        stage.company(name=f"Acme {n}")
    for parameters in ({}, RANGE):
        expected = api.get("/companies", params=parameters).json()["data"]
        assert assistant.call("list_companies", **parameters)["rows"] == tool_rows(expected)
    refusal = assistant.refusal("list_companies", start_date=RANGE["start_date"])
    assert "end_date" in refusal


def test_cursors_lead_through_everything(assistant: Assistant, stage: Stage) -> None:
    companies = {stage.company(name=f"Acme {n}") for n in range(5)}
    ids, cursor = [], None
    while True:
        page = assistant.call("list_companies", per_page=2, cursor=cursor)
        ids += [row["id"] for row in page["rows"]]
        if not (cursor := page["next_cursor"]):
            break
    assert len(ids) == len(companies)
    assert set(ids) == companies


def test_changing(assistant: Assistant, stage: Stage, api: Api) -> None:
    company_id = stage.company(domain="acme-x.com", external_id="a1")
    answer = assistant.call("update_company", company_id=company_id, name="Acme Ltd", domain=None)
    assert answer["name"] == "Acme Ltd"
    company = api.get(f"/companies/{company_id}").json()
    assert (company["name"], company["domain"], company["external_id"]) == ("Acme Ltd", None, "a1")
    assert "domain" in assistant.refusal("update_company", company_id=company_id, domain="no one")


def test_what_another_company_has_is_told(assistant: Assistant, stage: Stage) -> None:
    holder = stage.company(domain="acme-x.com")
    company_id = stage.company()
    refusal = assistant.refusal("update_company", company_id=company_id, domain="acme-x.com")
    assert f'"conflicting_company_id":{holder}' in refusal
    assert '"field":"domain"' in refusal
