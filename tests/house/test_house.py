"""House rules beyond the linters: tenants in SQL, and the contents of files."""

from __future__ import annotations

import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.support.sizes import ROOT

SOURCE = ROOT / "src" / "headwater"
STATEMENT = re.compile(r"^-- name: (\w+)\n(.*?)(?=^-- name: |\Z)", re.MULTILINE | re.DOTALL)
KEYWORDS = {
    "ORDER", "GROUP", "LIMIT", "RETURNING", "LEFT", "CROSS", "INNER", "JOIN", "FOR", "VALUES",
    "SELECT", "ON", "SET", "WHERE", "USING", "UNION",
}  # fmt: skip
COMMENT = re.compile(r"--[^\n]*")
MENTION = re.compile(r"\b(FROM|JOIN|INTO|UPDATE|USING|,)\s+(\w+)(?:\s+(?:AS\s+)?(\w+))?", re.IGNORECASE)

SPANS_SPACES: dict[str, str] = {
    "spaces/spaces.sql::list_ids": "an operator lists the installation's Spaces",
    "spaces/spaces.sql::create": "the Space does not exist yet",
    "spaces/audit/collectors.sql::due": "a worker asks where entries wait for collectors",
    "spaces/audit/collectors.sql::forget": "the installation has no collectors",
    "spaces/audit/entries.sql::delete_expired": "the operator's limit is the installation's",
    "http/rate_limits.sql::take": "one statement counts many Spaces, each in its own row",
    "http/health.sql::queue": "the operator's figures are the installation's",
    "intake/inbox/accepted_rows.sql::append": "one commit takes the events of many Spaces",
    "intake/inbox/queue.sql::last_space": "a worker goes around the whole installation",
    "intake/inbox/queue.sql::newest": "the operator waits for the whole installation",
    "intake/inbox/queue.sql::any_up_to": "likewise",
    "intake/merging/merge_log.sql::figures": "likewise",
    "forwarding/deliveries/queue.sql::destinations_due": "a forwarder asks where some are due",
    "forwarding/deliveries/queue.sql::spaces_due": "a worker asks likewise",
    "forwarding/deliveries/queue.sql::figures": "the operator's figures are the installation's",
    "intake/watched/leases.sql::due": "a process asks which watched files are due",
    "intake/watched/leases.sql::due_spaces": "a worker asks likewise",
    "spend/connections/leases.sql::due": "a process asks which connections are due to be pulled",
    "spend/connections/leases.sql::due_spaces": "a worker asks likewise",
    "alerts/watches.sql::due": "a process asks which Spaces are due to be looked at",
    "alerts/notifications/messages.sql::due": "likewise, where messages are due",
    "console/scheduled_reports/scheduled_reports.sql::due": "likewise, of reports",
    "attribution/trained_models/nightly_runs.sql::due": "likewise, of automatic training",
    "exports/schedules.sql::due_spaces": "likewise, of scheduled exports",
    "alerts/problems.sql::late_destinations": "a worker looks for backlogs of all Spaces",
    "intake/inbox/queue.sql::late": "likewise",
    "exports/jobs.sql::waiting": "a worker takes the job that has waited longest, of any Space",
    "exports/jobs.sql::end_holds": "a restore is of the whole installation",
    "exports/jobs.sql::spaces_to_tidy": "a worker asks which Spaces have old files",
    "intake/imports/jobs.sql::waiting": "likewise, of imports",
    "intake/imports/jobs.sql::spaces_to_tidy": "likewise, of uploaded files and refused rows",
    "privacy/erasures.sql::newest": "the operator waits for the whole installation",
    "privacy/erasures.sql::any_up_to": "likewise",
    "privacy/erasures.sql::due": "the worker asks where erasures wait",
    "privacy/erasures.sql::changed": "the journal of erasures is the installation's",
    "privacy/erasures.sql::unprocessed": "a restore brings the whole installation back",
    "privacy/erasures.sql::request_again": "likewise",
    "privacy/erasures.sql::waiting": "likewise",
    "operations/backups/backups.sql::sealed": "likewise",
    "intake/webhooks/webhooks.sql::find": "the token says which Space it opens, likewise",
    "spaces/sites/sites.sql::find": "the site key says which Space it writes to, likewise",
    "spaces/sites/refusals.sql::sites_of_origins": "the origin says which sites it may be of",
    "spaces/spaces.sql::any": "an operator sets the installation up",
    "spaces/accounts/members.sql::adopt": "likewise",
    "spaces/accounts/members.sql::joined": "which Spaces a user belongs to is the question",
    "spaces/accounts/users.sql::revoke_tokens": "an account is of no Space, and opens all",
    "spaces/accounts/users.sql::end_codes": "likewise",
    "spaces/accounts/users.sql::end_invitations": "likewise",
    "spaces/accounts/tokens.sql::find": "the token says which Space it opens, likewise",
    "spaces/accounts/tokens.sql::list_of_user": "which Spaces a user's tokens open is the question",
    "spaces/accounts/invitations.sql::find": "the link says which Space it offers, likewise",
    "spaces/accounts/invitations.sql::accept": "likewise",
    "console/report_pages/share_links.sql::find": "the link says which Space it shows, likewise",
    "spaces/accounts/authorization_codes.sql::use": "the code says which Space it is for, likewise",
    "spaces/accounts/authorization_codes.sql::revoke_token": "likewise",
    "spaces/accounts/authorization_codes.sql::forget": "a worker forgets old codes of any Space",
    "assistants/oauth/consent.sql::choices": "which Spaces a user can choose is the question",
    "database/cluster/moves.sql::neighbors": "the operator asks which Spaces share a place",
    "attribution/paths/builder.sql::spaces": "a worker looks in which Spaces paths have changed",
    "attribution/paths/builder.sql::spaces_of_nodes": "likewise, in a cluster",
    "spaces/rereadings.sql::spaces": "likewise where phrases of answers have changed",
    "events/browsing/old_views.sql::spaces_that_forget": "a worker looks where page views are old",
    "events/browsing/old_views.sql::looked_after": "likewise",
    "privacy/retention.sql::spaces_with_settings": "a worker looks where something may have expired",
    "privacy/retention.sql::ended_passes": "likewise",
    "attribution/history/revisions.sql::outdated": "a worker looks where something is too old",
    "attribution/history/revisions.sql::begin_era": "a restore is of the whole installation",
    "spaces/reclassifications.sql::spaces": "likewise where names of sources have changed",
    "spaces/access.sql::callers": "the key says which Space it opens: that is the question",
}
"""Statements that don't bind space_id, with the reason."""


@cache
def tenant_tables() -> frozenset[str]:
    """Return every table whose primary key starts with space_id, and `spaces` itself."""
    schema = "\n".join(
        COMMENT.sub("", path.read_text())
        for path in sorted((SOURCE / "database" / "migrations").glob("*.sql"))
    )
    tables = re.findall(r"CREATE (?:UNLOGGED )?TABLE (\w+) \((.*?)\n\)", schema, re.DOTALL)
    return frozenset({name for name, body in tables if "space_id" in body} | {"spaces"})


def statements() -> list[tuple[str, str]]:
    """Return every named statement as (`package/file.sql::name`, SQL without comments)."""
    return [
        (f"{path.relative_to(SOURCE)}::{name}", COMMENT.sub("", body))
        for path in sorted(SOURCE.rglob("*.sql"))
        if path.parent.name != "migrations"
        for name, body in STATEMENT.findall(path.read_text())
    ]


def unbound_mentions(sql: str) -> list[str]:
    """Return the mentions of tenant tables whose space_id isn't bound. A mention is bound by `alias.space_id
    = %(space_id)s`, without the alias for a table that has no alias. An INSERT binds it by naming the column
    and giving the parameter.
    """
    unbound_mentions: list[str] = []
    mention_counts: dict[str, int] = {}
    for verb, table, alias in MENTION.findall(sql):
        if table not in tenant_tables():
            continue
        name = alias if alias and alias.upper() not in KEYWORDS else ""
        column = "id" if table == "spaces" else "space_id"
        if verb.upper() == "INTO":
            pattern = rf"\b{table}\b[\w\s]*\([^)]*space_id[^)]*\)(?=.*%\(space_id\)s)"
        elif name:
            pattern = rf"\b{name}\.{column}\s*=\s*%\(space_id\)s"
        else:
            pattern = rf"(?<![\w])(?:{table}\.)?{column}\s*=\s*%\(space_id\)s"
        mention_counts[pattern] = mention_counts.get(pattern, 0) + 1
        if len(re.findall(pattern, sql, re.DOTALL)) < mention_counts[pattern]:
            unbound_mentions.append(f"{table} {name}".strip())
    return unbound_mentions


def test_the_rule_finds_what_it_looks_for() -> None:
    assert {"spaces", "events", "contacts", "api_keys"} <= tenant_tables()
    assert "installation" not in tenant_tables()
    assert unbound_mentions("SELECT 1 FROM events WHERE id = %(id)s") == ["events"]
    assert unbound_mentions("SELECT 1 FROM events e JOIN contacts c ON c.space_id = e.space_id"
                            " WHERE e.space_id = %(space_id)s") == ["contacts c"]  # fmt: skip
    assert unbound_mentions("SELECT 1 FROM events WHERE space_id = %(space_id)s") == []


@pytest.mark.parametrize(("statement_name", "sql"), statements(), ids=lambda value: value.split("\n")[0])
def test_every_statement_binds_its_space(statement_name: str, sql: str) -> None:
    if statement_name not in SPANS_SPACES:
        assert unbound_mentions(sql) == []


def test_no_exception_is_left_over() -> None:
    statements_by_name = dict(statements())
    assert [
        name
        for name in SPANS_SPACES
        if name not in statements_by_name or not unbound_mentions(statements_by_name[name])
    ] == []


def claims_again(sql: str) -> bool:
    """Return whether a plan may run a row-locking subquery again for each outer row. Each run gets the next
    rows, because earlier ones are locked, so a LIMIT takes far more. ARRAY(...) runs once.
    """
    lock_pattern = r"\bIN\s*\(\s*SELECT(?:(?!\bSELECT\b).)*FOR (?:NO KEY )?UPDATE"
    return re.search(lock_pattern, sql, re.DOTALL) is not None


def test_rows_are_claimed_once() -> None:
    planted_sql = (
        "DELETE FROM t WHERE id IN (SELECT id FROM t WHERE at < now() LIMIT 1 FOR UPDATE SKIP LOCKED)"
    )
    assert claims_again(planted_sql)
    assert not claims_again(planted_sql.replace("IN (SELECT", "= ANY(ARRAY(SELECT"))
    assert [name for name, sql in statements() if claims_again(sql)] == []


def tracked_files() -> list[Path]:
    result = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if result.returncode:  # an unpacked archive without history
        pytest.skip("not a git checkout")
    return [ROOT / name for name in result.stdout.split("\0") if name]


def test_no_index_or_registry_in_any_file() -> None:
    forbidden_names = re.compile(
        rb"--(?:extra-)?index-url|--find-links|pypi\.org|pythonhosted\.org|registry\.npmjs|@ file:///"
    )
    this_file = Path(__file__).resolve()
    paths = [
        str(path) for path in tracked_files()
        if path.is_file() and path.resolve() != this_file and forbidden_names.search(path.read_bytes())
    ]  # fmt: skip
    assert paths == []


def test_there_is_one_way_out() -> None:
    """Only egress/ calls other servers. The demo is a client of its own service."""
    client = re.compile(
        r"^\s*(?:import|from) (?:httpx2?|httpcore2?|requests|aiohttp|urllib\.request|urllib3"
        r"|http\.client|google\.auth\.transport)\b", re.MULTILINE,
    )  # fmt: skip
    folders = {
        path.relative_to(SOURCE).parent.as_posix()
        for path in SOURCE.rglob("*.py")
        if client.search(path.read_text())
    }
    assert folders == {"base/egress", "demo"}


def test_every_requirement_is_pinned_by_hash() -> None:
    for path in (ROOT / "requirements").glob("*.txt"):
        entries = path.read_text().replace("\\\n", "").splitlines()
        assert entries
        assert [entry for entry in entries if "==" not in entry or "--hash=sha256:" not in entry] == []


def test_locks_hold_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    requirements = {
        "base.txt": project["project"]["dependencies"],
        "dev.txt": project["project"]["dependencies"] + project["dependency-groups"]["dev"],
    }
    for file, entries in requirements.items():
        text = (ROOT / "requirements" / file).read_text()
        names = {re.split(r"[\[><=;~! ]", entry)[0] for entry in entries}
        assert {name for name in names if f"\n{name}==" not in f"\n{text}"} == set(), "make lock"


def test_locks_agree() -> None:
    base, dev = (
        set(re.findall(r"^(\S+==\S+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE))
        for name in ("base.txt", "dev.txt")
    )
    assert base <= dev


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path.stem != "__init__")


GERUNDS: dict[str, str] = {
    "browsing": "what visitors do: the page views and visits of one room",
    "forwarding": "the trade's word for sending conversions on to ad platforms",
    "merging": "the trade's word for making one contact of two",
    "onboarding": "the trade's word for a first account and Space",
    "masking": "the trade's word for keeping values out of texts",
    "mapping": "the trade's word for which field of a body becomes which of ours",
}
"""Names of packages and modules that end in -ing, each with its reason."""


def test_modules_are_nouns() -> None:
    names = {word for path in modules() for word in path.relative_to(SOURCE).with_suffix("").parts}
    gerunds = {name for name in names if name.endswith("ing")}
    assert sorted(gerunds - set(GERUNDS)) == []
    assert sorted(set(GERUNDS) - gerunds) == []


def test_a_public_class_stands_in_one_room() -> None:
    rooms: dict[str, set[str]] = {}
    for path in modules():
        for name in re.findall(r"^class ([A-Za-z]\w*)", path.read_text(), re.MULTILINE):
            rooms.setdefault(name, set()).add(path.relative_to(SOURCE).parent.as_posix())
    assert {name: places for name, places in rooms.items() if len(places) > 1} == {}
