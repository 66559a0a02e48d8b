"""`headwater check`: every risk is found where it exists, and only there."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from headwater.base.settings import Settings
from headwater.cli import main
from headwater.database.migrator import SchemaState
from headwater.operations.safety import file_facts
from headwater.operations.safety.database_facts import (
    AccountFacts,
    BackupFacts,
    DatabaseFacts,
    ServerFacts,
    gather_database_facts,
)
from headwater.operations.safety.database_rules import judge_database
from headwater.operations.safety.file_facts import DiskFacts, FileFacts, gather_file_facts
from headwater.operations.safety.file_rules import judge_files
from headwater.operations.safety.inspection import inspect
from headwater.operations.safety.models import Risk, RiskSeverity
from headwater.operations.safety.setting_rules import judge_settings
from tests.house.test_docs import row_names, section
from tests.support.sizes import ROOT

GB = 1024**3
SERVER = ServerFacts(
    version=180003, version_name="18.3", fsync=True, synchronous_commit=True,
    full_page_writes=True, checksums=True, keeps_quiet=True, is_read_only=False,
    now=datetime(2026, 11, 23, tzinfo=UTC), checkpoint_at=datetime(2026, 11, 22, tzinfo=UTC),
    is_remote=False, is_encrypted=False, is_superuser=False,
)  # fmt: skip
DATABASE = DatabaseFacts(
    SERVER, SchemaState((), ()), timedelta(0), confines=True, open_tables=(), is_ours=False,
    accounts=AccountFacts(has_accounts=True, is_open=False),
    backup=BackupFacts(timedelta(hours=9), verified=True, folder="/mnt/backups"),
)  # fmt: skip
FOLDER = Path("/mnt/backups")
FILES = FileFacts(
    is_root=False, open_paths=(), foreign_paths=(), has_key_file=False,
    disks=(DiskFacts(FOLDER, 100 * GB, 50 * GB),), backup_dir=FOLDER, shares_disk=False,
    has_journal=True,
)  # fmt: skip
HERE, PUBLIC = "http://127.0.0.1:8080", "https://t.example.com"
PROXIED = Settings(trusted_proxies=(ip_network("10.0.0.7"),))


def test_it_works(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """On the tests' server, which isn't durable."""
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    monkeypatch.setenv("HEADWATER_DATA_DIR", str(tmp_path))
    assert main(["check", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert not report["safe"]
    risks_by_id = {risk["id"]: risk for risk in report["risks"]}
    assert risks_by_id["not_durable"]["severity"] == "critical"
    assert "fsync = off" in risks_by_id["not_durable"]["subject"]
    assert {"superuser", "key_in_database"} <= risks_by_id.keys()
    severities = [list(RiskSeverity).index(risk["severity"]) for risk in report["risks"]]
    assert severities == sorted(severities)
    assert main(["check"]) == 1
    text = capsys.readouterr().out
    assert "CRITICAL  not_durable: PostgreSQL: fsync = off" in text
    assert "\n  Why: acknowledged events are lost" in text
    assert "\n  Do: turn it on" in text


def test_a_safe_installation_has_no_risks(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, database_url: str
) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    monkeypatch.setattr("headwater.cli.service.check.inspect", lambda *_: [])
    assert main(["check"]) == 0
    assert capsys.readouterr().out == "Nothing unsafe was found.\n"


def test_a_notice_is_no_failure(monkeypatch: pytest.MonkeyPatch, capsys: Any, database_url: str) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", database_url)
    notice = Risk("root", RiskSeverity.NOTICE, "a", "b", "c")
    monkeypatch.setattr("headwater.cli.service.check.inspect", lambda *_: [notice])
    assert main(["check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["safe"]


def test_without_an_installation(tmp_path: Path, capsys: Any) -> None:
    assert main(["check", "--data-dir", str(tmp_path / "none")]) == 2
    assert "no Headwater data" in capsys.readouterr().err


def test_a_database_that_does_not_answer(tmp_path: Path) -> None:
    url = "postgresql://nobody@127.0.0.1:9/headwater"
    risks = inspect(Settings(database_url=url, data_dir=tmp_path), url, {})
    assert [risk.id for risk in risks if risk.fails][:1] == ["database_unreachable"]
    assert "refused" in risks[0].subject


def test_a_database_that_refuses_the_user(young_url: str, tmp_path: Path) -> None:
    with psycopg.connect(young_url, autocommit=True) as connection:
        connection.execute("CREATE ROLE outsider LOGIN PASSWORD 'outside'")
    try:
        url = make_conninfo(young_url, user="outsider", password="outside")  # a test's
        risks = inspect(Settings(database_url=url, data_dir=tmp_path), url, {})
    finally:
        with psycopg.connect(young_url, autocommit=True) as connection:
            connection.execute("DROP ROLE outsider")
    assert risks[0].id == "database_unreachable"
    assert "permission denied" in risks[0].subject


def test_a_database_that_takes_no_writes(young_url: str, tmp_path: Path) -> None:
    settings = Settings(database_url=young_url, data_dir=tmp_path)
    assert "standby" not in {risk.id for risk in inspect(settings, young_url, {})}
    with psycopg.connect(young_url, autocommit=True) as connection:
        name = Identifier(connection.info.dbname)
        connection.execute(SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(name))
    assert "standby" in {risk.id for risk in inspect(settings, young_url, {})}


def server(**changes: Any) -> DatabaseFacts:
    return replace(DATABASE, server=replace(SERVER, **changes))


@pytest.mark.parametrize(
    ("facts", "risks"),
    [
        (DATABASE, []),
        (server(fsync=False), ["not_durable"]),
        (server(synchronous_commit=False), ["not_durable"]),
        (server(full_page_writes=False), ["not_durable"]),
        (server(checksums=False), ["no_checksums"]),
        (server(is_read_only=True), ["standby"]),
        (server(version=150009), ["old_postgresql"]),
        (server(version=160000), []),
        (server(is_remote=True), ["database_without_tls"]),
        (server(is_remote=True, is_encrypted=True), []),
        (server(is_superuser=True), ["superuser"]),
        (replace(server(is_superuser=True), is_ours=True), []),
        (server(keeps_quiet=False), ["talkative_log"]),
        (server(checkpoint_at=SERVER.now + timedelta(seconds=6)), ["clock_set_back"]),
        (server(checkpoint_at=SERVER.now + timedelta(seconds=4)), []),
        (replace(DATABASE, skew=timedelta(seconds=-6)), ["clock_off"]),
        (replace(DATABASE, skew=timedelta(seconds=4)), []),
        (replace(DATABASE, schema=SchemaState(("0099_x",), ())), ["schema_behind"]),
        (replace(DATABASE, schema=SchemaState((), ("9999_y",))), ["schema_ahead"]),
        (replace(DATABASE, schema=SchemaState((), (), ("9999_z",))), ["schema_newer"]),
        (replace(DATABASE, schema=SchemaState((), (), is_foreign=True)), ["schema_foreign"]),
        (replace(DATABASE, confines=False), ["no_second_wall"]),
        (replace(DATABASE, open_tables=("hits",)), ["open_tables"]),
        (replace(DATABASE, has_stored_key=True), ["key_in_database"]),
        (replace(DATABASE, accounts=AccountFacts(has_accounts=False, is_open=True)), ["open_sign_up"]),
        (replace(DATABASE, accounts=AccountFacts(has_accounts=False, is_open=False)), []),
        (replace(DATABASE, backup=None), ["no_backup"]),
        (
            replace(DATABASE, backup=BackupFacts(timedelta(days=8), verified=True, folder="/b")),
            ["old_backup"],
        ),
        (
            replace(DATABASE, backup=BackupFacts(timedelta(days=1), verified=False, folder="/b")),
            ["backup_not_verified"],
        ),
    ],
)
def test_a_database(facts: DatabaseFacts, risks: list[str]) -> None:
    assert ids(judge_database(facts)) == risks


@pytest.mark.parametrize(
    ("facts", "risks"),
    [
        (FILES, []),
        (replace(FILES, open_paths=(FOLDER,)), ["open_files"]),
        (replace(FILES, foreign_paths=(FOLDER,)), ["foreign_files"]),
        (replace(FILES, is_root=True), ["root"]),
        (replace(FILES, has_key_file=True), ["key_beside_data"]),
        (replace(FILES, shares_disk=True), ["backups_on_same_disk"]),
        (replace(FILES, old_clusters=(FOLDER / "postgresql.16",)), ["old_cluster"]),
        (replace(FILES, has_journal=False), ["no_erasure_journal"]),
        (replace(FILES, backup_dir=None, has_journal=False), []),
        (replace(FILES, disks=(DiskFacts(FOLDER, 40 * GB, 3 * GB),)), ["disk_nearly_full"]),
        (replace(FILES, disks=(DiskFacts(FOLDER, 4 * GB, GB),)), ["disk_nearly_full"]),
        (replace(FILES, disks=(DiskFacts(FOLDER, 900 * GB, 30 * GB),)), []),
    ],
)
def test_files(facts: FileFacts, risks: list[str]) -> None:
    assert ids(judge_files(Settings(), facts)) == risks


def test_a_full_disk_is_critical_and_a_long_list_is_cut() -> None:
    full = replace(FILES, disks=(DiskFacts(FOLDER, 40 * GB, GB // 8),), open_paths=(FOLDER,) * 7)
    disk, files = sorted(judge_files(Settings(), full), key=lambda risk: risk.id)
    assert disk.severity is RiskSeverity.CRITICAL
    assert files.subject.endswith("and 2 more")


def test_a_key_of_the_operators_own_lies_beside_nothing() -> None:
    facts = replace(FILES, has_key_file=True)
    assert ids(judge_files(Settings(secret_key="k" * 40), facts)) == []


@pytest.mark.parametrize(
    ("settings", "base_url", "risks"),
    [
        (Settings(), HERE, []),
        (Settings(), "http://localhost:8080", []),
        (PROXIED, PUBLIC, []),
        (PROXIED, "http://t.example.com", ["no_tls"]),
        (Settings(), PUBLIC, ["no_proxy_trust"]),
        (Settings(), "http://192.0.2.7:8080", ["no_tls", "no_proxy_trust"]),
        (replace(PROXIED, trusted_proxies=(ip_network("0.0.0.0/0"),)), HERE, ["proxies_too_wide"]),
        (replace(PROXIED, trusted_proxies=(ip_network("::/0"),)), HERE, ["proxies_too_wide"]),
        (replace(PROXIED, trusted_proxies=(ip_network("10.0.0.0/8"),)), HERE, []),
        (Settings(rate_limit_factor=1000), HERE, ["no_rate_limits"]),
        (Settings(rate_limit_factor=20), HERE, []),
        (Settings(smtp_url="smtp://mail.example?tls=optional"), HERE, ["mail_without_tls"]),
        (Settings(smtp_url="smtp://127.0.0.1?tls=never"), HERE, []),
        (Settings(smtp_url="smtp://mail.example"), HERE, []),
        (Settings(smtp_url="smtps://mail.example"), HERE, []),
        (Settings(notify_hosts=("chat.internal",)), HERE, ["private_hosts"]),
        (Settings(platform_urls={"meta": "https://x.example"}), HERE, ["platform_elsewhere"]),
    ],
)
def test_settings(settings: Settings, base_url: str, risks: list[str]) -> None:
    assert ids(judge_settings(settings, base_url, {})) == risks


@pytest.mark.parametrize("variable", ["HEADWATER_FAILPOINT", "HEADWATER_FAILPOINT_FILE"])
def test_failpoints(variable: str) -> None:
    assert ids(judge_settings(Settings(), HERE, {variable: "x"})) == ["failpoint"]
    assert ids(judge_settings(Settings(), HERE, {variable: ""})) == []


@pytest.fixture
def private_dir(tmp_path: Path) -> Path:
    """A data directory with Headwater's files, closed to others."""
    tmp_path.chmod(0o700)
    for name in ("secret.key", "postgresql.log"):
        (tmp_path / name).touch(0o600)
    return tmp_path


def test_files_are_looked_at(private_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = Settings(data_dir=private_dir)
    facts = gather_file_facts(settings, None)
    assert (facts.open_paths, facts.foreign_paths, facts.backup_dir) == ((), (), None)
    assert facts.has_key_file
    assert facts.disks[0].total > facts.disks[0].free > 0
    (private_dir / "secret.key").chmod(0o640)
    folder = tmp_path_factory.mktemp("backups")
    (folder / "headwater-2026.zip").touch()
    (folder / "headwater-2026.zip").chmod(0o604)  # regardless of this process's umask
    facts = gather_file_facts(settings, folder)
    assert facts.open_paths == (private_dir / "secret.key", folder / "headwater-2026.zip")
    assert facts.shares_disk
    assert not facts.has_journal
    (folder / "erasures.journal").touch(0o600)
    assert gather_file_facts(settings, folder).has_journal
    assert gather_file_facts(settings, folder / "gone").backup_dir is None


def test_every_disk_is_measured_once(private_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("backups")
    for url, folders in ((None, []), (f"file://{folder}", []), ("file:///dev", [Path("/dev")])):
        facts = gather_file_facts(Settings(data_dir=private_dir, storage_url=url), folder)
        assert sorted(disk.path for disk in facts.disks) == sorted([private_dir, *folders])


def test_open_files_are_among_an_installations_risks(private_dir: Path, database_url: str) -> None:
    settings = Settings(data_dir=private_dir, database_url=database_url)
    assert "open_files" not in ids(inspect(settings, database_url, {}))
    (private_dir / "secret.key").chmod(0o640)
    assert "open_files" in ids(inspect(settings, database_url, {}))


def test_other_accounts_are_seen(private_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_facts, "_accounts", lambda _: {os.geteuid() + 1})
    assert private_dir in gather_file_facts(Settings(data_dir=private_dir), None).foreign_paths


def test_a_directory_for_other_things_too_may_be_open(private_dir: Path) -> None:
    (private_dir / "website").mkdir()
    private_dir.chmod(0o755)
    assert gather_file_facts(Settings(data_dir=private_dir), None).open_paths == ()
    (private_dir / "website").rmdir()
    assert gather_file_facts(Settings(data_dir=private_dir), None).open_paths == (private_dir,)


@pytest.fixture
def rolled_back_connection(connection: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """A connection whose changes are rolled back."""
    with connection.transaction(force_rollback=True):
        yield connection


def test_a_database_is_looked_at(rolled_back_connection: psycopg.Connection) -> None:
    rolled_back_connection.execute("DELETE FROM backups")
    facts = gather_database_facts(rolled_back_connection, is_ours=True)
    assert not facts.server.fsync
    assert (facts.server.checksums, facts.server.keeps_quiet) == (True, True)
    assert abs(facts.skew) < timedelta(seconds=5)
    assert facts.schema == SchemaState((), ())
    assert facts.backup is None
    rolled_back_connection.execute(
        "INSERT INTO backups (id, made_at, finished_at, bytes, name, folder)"
        " VALUES (gen_random_uuid(), now() - interval '9 days', now(), 1, 'a.zip', '/b')"
    )
    facts = gather_database_facts(rolled_back_connection, is_ours=True)
    assert facts.backup == BackupFacts(timedelta(days=9), verified=False, folder="/b")
    assert facts.recorded_folder == Path("/b")


@pytest.mark.parametrize("setting", [
    "log_min_error_statement = 'error'", "log_error_verbosity = 'default'", "log_statement = 'mod'",
    "log_min_duration_statement = 1000", "log_min_duration_sample = 1000",
    "log_transaction_sample_rate = 0.1",
])  # fmt: skip
def test_what_the_servers_log_quotes(rolled_back_connection: psycopg.Connection, setting: str) -> None:
    rolled_back_connection.execute(f"SET LOCAL {setting}".encode())
    assert not gather_database_facts(rolled_back_connection, is_ours=True).server.keeps_quiet


def test_the_second_wall_is_looked_at(rolled_back_connection: psycopg.Connection) -> None:
    facts = gather_database_facts(rolled_back_connection, is_ours=True)
    assert (facts.confines, facts.open_tables) == (True, ())
    rolled_back_connection.execute("ALTER TABLE hits DISABLE ROW LEVEL SECURITY")
    rolled_back_connection.execute("DROP POLICY space ON events")
    facts = gather_database_facts(rolled_back_connection, is_ours=True)
    assert (facts.confines, facts.open_tables) == (True, ("events", "hits"))
    rolled_back_connection.execute("ALTER ROLE headwater_space BYPASSRLS")
    assert not gather_database_facts(rolled_back_connection, is_ours=True).confines


def test_schemas_are_compared(rolled_back_connection: psycopg.Connection) -> None:
    rolled_back_connection.execute("INSERT INTO migrations (name, checksum) VALUES ('9999_later', '')")
    facts = gather_database_facts(rolled_back_connection, is_ours=True)
    assert (facts.schema.newer, facts.schema.unknown) == (("9999_later",), ())
    rolled_back_connection.execute("UPDATE migrations SET unused_since = '9.0.0' WHERE name = '9999_later'")
    facts = gather_database_facts(rolled_back_connection, is_ours=True)
    assert (facts.schema.newer, facts.schema.unknown) == ((), ("9999_later",))


def test_every_risk_is_documented_and_found_by_a_test() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    folder = ROOT / "src" / "headwater" / "operations" / "safety"
    code = "".join(path.read_text() for path in folder.glob("*.py"))
    risks = set(re.findall(r'Risk\(\s+"(\w+)"', code))
    assert risks == set(row_names(section(page, "What is unsafe")))
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert {risk for risk in risks if f'"{risk}"' not in tests} == set()


def ids(risks: Iterator[Risk]) -> list[str]:
    """Return the ids of the found risks, in the order of the rules, and check that each has a reason and a
    remedy.
    """
    all_risks = list(risks)
    assert all(risk.subject and risk.why and risk.remedy for risk in all_risks)
    return [risk.id for risk in all_risks]
