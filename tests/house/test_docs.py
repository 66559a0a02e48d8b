"""The documentation covers everything: settings, commands, limits, statuses, packages, models, sources,
filters, receipts.
"""

from __future__ import annotations

import argparse
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest

from headwater.api.operations import RATE_LIMITS
from headwater.assistants.mcp.endpoint import AccessRefusal as AssistantRefusal
from headwater.assistants.mcp.prompts import PROMPTS
from headwater.assistants.mcp.resources import RESOURCES
from headwater.assistants.mcp.tools import TOOLS
from headwater.attribution.models import MODELS, WINDOWS
from headwater.base.settings import PREFIX, READERS, Settings
from headwater.cli.commands import build_parser
from headwater.events.fields import FIELDS
from headwater.forwarding.destinations.destinations import DELIVERY_STATUSES
from headwater.forwarding.platforms.models import SkipReason
from headwater.forwarding.platforms.platform import DAY
from headwater.forwarding.platforms.registry import PLATFORMS
from headwater.intake.inbox.rows import RejectReason
from headwater.people.contacts.filters import OPERATORS
from headwater.reports.query import Comparison, Group, Measure, ReportProblem
from headwater.sources import clicks
from headwater.sources.catalogue import SOURCES
from headwater.sources.outcomes import NothingReason
from headwater.spaces.keys import SCOPES
from headwater.spaces.settings_input import KEYS
from headwater.spend.platforms.registry import PLATFORMS as SPEND_PLATFORMS
from tests.support.sizes import ROOT
from tests.support.source_rules import RULES

DOCS = ROOT / "docs"
CONFIGURATION = (DOCS / "configuration.md").read_text()
COMMANDS = (DOCS / "commands.md").read_text()
OPERATIONS = (DOCS / "operations.md").read_text()
API = (DOCS / "api.md").read_text()
ATTRIBUTION = (DOCS / "attribution.md").read_text()
IDENTITY = (DOCS / "identity.md").read_text()
REPORTS = (DOCS / "reports.md").read_text()
ASSISTANTS = (DOCS / "assistants.md").read_text()


def section(page: str, title: str) -> str:
    """Return the text under a heading, up to the next heading of any level."""
    return re.split(r"^#+ ", page.partition(f"# {title}")[2], maxsplit=1, flags=re.MULTILINE)[0]


def row_names(text: str) -> list[str]:
    """Return the code words in the first column of tables, in order."""
    columns = re.findall(r"^\| ([^|]*`[^|]*) \|", text, re.MULTILINE)
    return [name for column in columns for name in re.findall(r"`([^`]+)`", column)]


def test_every_setting() -> None:
    assert {*READERS, "platform_urls"} == set(Settings.__slots__)
    urls = {f"{PREFIX}{name.upper()}_URL": f"`{platform.url}`" for name, platform in PLATFORMS.items()}
    urls |= {
        f"{PREFIX}{name.upper()}_SPEND_URL": f"`{platform.url}`" for name, platform in SPEND_PLATFORMS.items()
    }
    rows = re.findall(r"^\| `(HEADWATER_\w+)` \| ([^|]*) \|", CONFIGURATION, re.MULTILINE)
    assert [variable for variable, _ in rows if variable not in urls] == [
        PREFIX + name.upper() for name in READERS
    ]
    assert [row for row in rows if row[0] in urls] == list(urls.items())


def commands(
    parser: argparse.ArgumentParser, name: str = "headwater"
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield every command that can be run, as (its words, its parser)."""
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups:
        yield name, parser
    for group in groups:
        for word, inner in group.choices.items():
            yield from commands(inner, f"{name} {word}")


@pytest.mark.parametrize(("name", "parser"), list(commands(build_parser())))
def test_every_command_and_option(name: str, parser: argparse.ArgumentParser) -> None:
    description = re.search(rf"`{name}\b.*?(?=\n\n(?!\|)|`headwater |\Z)", COMMANDS, re.DOTALL)
    assert description is not None
    text = COMMANDS if name == "headwater demo" else description[0]
    options = {
        option for action in parser._actions for option in action.option_strings
        if action.help != argparse.SUPPRESS and option not in {"-h", "--help", "--data-dir"}
    }  # fmt: skip
    assert {option for option in options if option not in text} == set()


def test_no_command_that_is_not() -> None:
    command_names = {name for name, _ in commands(build_parser())}
    mentions = re.findall(r"`(headwater [a-z-]+(?: [a-z-]+)?)", COMMANDS)
    assert {name for name in mentions if name not in command_names} == set()


def test_every_process_of_a_worker() -> None:
    duties = (ROOT / "src" / "headwater" / "worker_duties.py").read_text()
    processes = re.findall(r'make_process_duty\("(\w+)"', duties)
    assert "forwarder" in processes
    page = section(OPERATIONS, "Processes")
    assert [name for name in processes if f"`headwater {name}`" not in page] == []


def test_every_space_setting_and_scope() -> None:
    keys = re.findall(r"^\| `([^`]+)` \|", COMMANDS, re.MULTILINE)
    assert keys == list(KEYS)
    for page in (COMMANDS, section(API, "Authentication")):
        assert [scope for scope in SCOPES if f"`{scope}`" not in page] == []


def test_every_limit_and_in_one_place() -> None:
    rows = {page: re.findall(r"^\| `(\w+)` \| (\d+) \|", page, re.MULTILINE)
            for page in (CONFIGURATION, API)}  # fmt: skip
    limits = {bucket: limit.per_minute for bucket, limit in RATE_LIMITS.items()}
    assert {bucket: int(limit) for bucket, limit in rows[API]} == limits
    assert rows[CONFIGURATION] == []
    assert "api.md#rate-limits" in CONFIGURATION


def statuses() -> set[int]:
    """Return every error status in the code."""
    rooms = {"api", "endpoints", "http", "inputs", "ingest", "spaces", "events"}
    files = [*(ROOT / "src" / "headwater").rglob("*.py")]
    numbers = {
        int(token.string)
        for path in files
        if path.parent.name in rooms or path.name == "app.py"
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
        if token.type == tokenize.NUMBER and token.string.isdigit()
    }
    return {int(status) for status in HTTPStatus if status >= 400} & numbers


@pytest.mark.parametrize(("page", "title"), [(OPERATIONS, "Errors of the API"), (API, "Errors")])
def test_every_status(page: str, title: str) -> None:
    rows = re.findall(r"^\| ([\d, ]+) \|", section(page, title), re.MULTILINE)
    documented_statuses = {int(number) for row in rows for number in row.split(",")}
    assert statuses() - documented_statuses == set()


def test_every_model_and_window() -> None:
    assert row_names(section(ATTRIBUTION, "Models"))[1:] == list(MODELS)
    days = re.search(r"`attribution_window` is ((?:`\d+`(?:, | or )?)+)", ATTRIBUTION)
    assert days is not None
    assert re.findall(r"\d+", days[1]) == [str(window) for window in WINDOWS]


def test_every_measure_group_and_comparison() -> None:
    assert row_names(section(REPORTS, "Measures")) == list(Measure)
    assert row_names(section(REPORTS, "Groups")) == list(Group)
    comparison_names = row_names(section(REPORTS, "Comparisons"))
    assert comparison_names[1:] == [
        comparison for comparison in Comparison if comparison is not Comparison.NONE
    ]
    assert [reason for reason in ReportProblem if f"`{reason}`" not in REPORTS] == []


def test_every_source() -> None:
    sources = re.findall(r"`(\w+)`", section(ATTRIBUTION, "Sources").partition("|---|")[2])
    assert sorted(sources) == sorted(SOURCES)
    parameters = {*clicks.ADS, *clicks.CLICK_IDS, *clicks.MAIL}
    assert [name for name in {*parameters, *RULES, *NothingReason} if f"`{name}`" not in ATTRIBUTION] == []


@pytest.mark.parametrize(("title", "kind"), [("Text,", "text"), ("Numbers,", "number"), ("Dates,", "date")])
def test_every_filter_operator(title: str, kind: str) -> None:
    assert set(row_names(section(API, title))) == set(OPERATORS[kind])


def test_every_field() -> None:
    assert set(row_names(section(API, "Fields"))) == set(FIELDS)


def test_every_receipt_status_and_reason() -> None:
    sql = (ROOT / "src" / "headwater" / "intake" / "ingest" / "receipts.sql").read_text()
    statuses = re.findall(r"^SELECT '(\w+)'", sql.partition("-- name: receipt")[2], re.MULTILINE)
    assert row_names(section(IDENTITY, "Receipts"))[1:] == list(dict.fromkeys(statuses))
    assert [status for status in statuses if f"`{status}`" not in section(API, "Receipts")] == []
    assert [reason for reason in RejectReason if f"`{reason}`" not in IDENTITY] == []


def test_everything_of_forwarding() -> None:
    page = (DOCS / "forwarding.md").read_text()
    rows = re.findall(
        r"^\| `(\w+)` \| \[.+\]\(\S+/platforms/(\w+)/README\.md\) \| (\d+) days \|$",
        page, re.MULTILINE,
    )  # fmt: skip
    assert rows == [(name, name, f"{platform.limits.age / DAY:g}") for name, platform in PLATFORMS.items()]
    outcomes = row_names(section(page, "What is forwarded, and when"))
    assert outcomes == [*DELIVERY_STATUSES, *SkipReason]


def test_every_spend_platform_has_a_guide() -> None:
    guides = re.findall(r"^### Connect (.+)$", (DOCS / "spend.md").read_text(), re.MULTILINE)
    assert set(guides) == {platform.title for platform in SPEND_PLATFORMS.values()}


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    requirements = project["project"]["dependencies"] + project["dependency-groups"]["dev"]
    names = {re.split(r"[\[><=;~! ]", requirement)[0] for requirement in requirements}
    text = (DOCS / "ARCHITECTURE.md").read_text()
    assert {name for name in names if not re.search(rf"\b{name}\b", text)} == set()


def test_every_room_is_on_the_map() -> None:
    text = (DOCS / "ARCHITECTURE.md").read_text()
    rooms = [path.name for path in (ROOT / "src" / "headwater").iterdir() if path.is_dir()]
    rooms = [f"{name}/" for name in rooms if not name.startswith("__")]
    assert [room for room in rooms if f"`{room}`" not in text] == []


def test_every_make_target() -> None:
    targets = re.findall(r"^([a-z]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {"setup", "serve", "demo", "test", "check", "bench"} <= set(targets)


def pages() -> list[Path]:
    return [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_everything_an_assistant_can_ask() -> None:
    tools = row_names(section(ASSISTANTS, "Tools"))
    assert sorted(name for name in tools if "custom_event_" not in name) == sorted(
        tool.name for tool in TOOLS
    )
    row_labels = row_names(section(ASSISTANTS, "Resources and prompts"))
    assert row_labels == [*RESOURCES, *PROMPTS]
    proxy_section = section(ASSISTANTS, "Behind a reverse proxy")
    assert [reason for reason in AssistantRefusal if f"`{reason}`" not in proxy_section] == []
