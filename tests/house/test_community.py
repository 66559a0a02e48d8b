"""Pages for visitors of the repository: the forge accepts the issue forms, and no page contains a project
address.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.sizes import ROOT

FORGE = ROOT / ".github"
FORMS = sorted(path for path in (FORGE / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
PAGES = ("CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "GOVERNANCE.md", "ROADMAP.md", "SECURITY.md")
TYPES = {"markdown", "textarea", "input", "dropdown", "checkboxes"}
HOSTS = re.compile(r"https?://([\w.-]+)")
by_name = {"ids": lambda path: path.name}


def test_it_works() -> None:
    assert len(FORMS) == 4
    assert yaml.safe_load((FORGE / "ISSUE_TEMPLATE" / "config.yml").read_text()) == {
        "blank_issues_enabled": True
    }
    assert [page for page in PAGES if not (ROOT / page).exists()] == []


@pytest.mark.parametrize("path", FORMS, **by_name)
def test_the_forge_accepts_a_form(path: Path) -> None:
    form: dict[str, Any] = yaml.safe_load(path.read_text())
    assert form.keys() == {"name", "description", "labels", "body"}
    questions = [element for element in form["body"] if element["type"] != "markdown"]
    assert {element["type"] for element in form["body"]} <= TYPES
    assert len({question["id"] for question in questions}) == len(questions)
    assert all(question["attributes"]["label"] for question in questions)
    assert any(question.get("validations", {}).get("required") for question in questions)


def test_no_address_of_the_project_is_written_out() -> None:
    """It is only in project.toml."""
    files = [path for path in FORGE.rglob("*") if path.is_file()] + [ROOT / page for page in PAGES]
    hosts = {host for path in files for host in HOSTS.findall(path.read_text())}
    assert hosts == {"127.0.0.1"}
