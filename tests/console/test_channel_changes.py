"""The "what changed" page: the change by channel since the previous period, with a sentence for each
change.
"""

from __future__ import annotations

import pytest

from tests.console.conftest import Person
from tests.console.tables import PageTables
from tests.console.test_campaigns import stage
from tests.console.test_changes_since import words
from tests.console.test_channels import days_ago, order
from tests.support.factories import Stage

__all__ = ["stage"]


@pytest.fixture
def space(stage: Stage) -> Stage:
    """E-mail lost an order, ads lost order value, and one order has no touchpoint."""
    for source, amount, days in (
        ("email", "90", 40), ("email", "60", 41), ("email", "75", 5),
        ("google_ads", "80", 40), ("google_ads", "30", 5),
    ):  # fmt: skip
        order(stage, source, amount, days=days)
    stage.event(stage.contact(), amount="12", event_time=days_ago(5))
    return stage


@pytest.mark.usefixtures("space")
def test_it_works(owner: Person, space_id: int) -> None:
    page = owner.browser.get(f"/console/spaces/{space_id}/changes")
    assert page.status_code == 200, page.text
    table = {
        row[0].text: [cell.value for cell in row[1:]] for row in PageTables(page.text).tables["channels"][1:]
    }
    assert table == {
        "E-mail": ["2", "1", "150", "75", "-75", "-75", "0"],
        "Paid ads": ["1", "1", "80", "30", "-50", "0", "-50"],
        "Unattributed": ["0", "1", "0", "12", "12", "12", "0"],
        "Total": ["3", "3", "230", "117", "-113", "-63", "-50"],
    }
    text = words(page.text)
    first = text.index("E-mail -75.00 EUR: 1 order instead of 2")
    second = text.index("Paid ads -50.00 EUR: 30.00 EUR per order instead of 80.00")
    assert first < second < text.index("Unattributed +12.00 EUR: 1 order instead of 0")


@pytest.mark.usefixtures("space")
def test_conversions_without_money(owner: Person, stage: Stage, space_id: int) -> None:
    contact_id = stage.contact()
    stage.touchpoint(contact_id, "email", occurred_at=days_ago(6))
    stage.event(contact_id, event_name="lead_generated", amount=None, event_time=days_ago(5))
    text = words(owner.browser.get(f"/console/spaces/{space_id}/changes?conversion=lead_generated").text)
    assert "E-mail +1: 1 lead instead of 0" in text


@pytest.mark.usefixtures("space")
def test_a_period_before_the_first_event_has_nothing_to_compare_with(owner: Person, space_id: int) -> None:
    page = owner.browser.get(f"/console/spaces/{space_id}/changes?period=last+90+days").text
    assert "Nothing to compare with" in page


def test_tabs_lead_to_each_other(owner: Person, space_id: int) -> None:
    base = f"/console/spaces/{space_id}/changes"
    for path in (base, f"{base}/since"):
        page = owner.browser.get(path).text
        assert "Nothing" in page
        assert f'href="{base}"' in page
        assert f'href="{base}/since"' in page


def test_bad_choices_are_refused(owner: Person, space_id: int) -> None:
    page = owner.browser.get(f"/console/spaces/{space_id}/changes?attribution_window=8")
    assert page.status_code == 422
