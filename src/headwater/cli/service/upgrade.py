"""`headwater upgrade`: upgrade the embedded PostgreSQL's data to this version's major release."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from headwater.base.failure import Failure
from headwater.base.files import keep_private
from headwater.base.settings import Settings
from headwater.database.programs import MAJOR
from headwater.operations.terminal.command import Command, Option
from headwater.operations.terminal.options import JSON
from headwater.operations.terminal.output import print_note, print_output
from headwater.operations.upgrades.upgrade import Upgraded, remove_kept
from headwater.operations.upgrades.upgrade import upgrade as upgrade_cluster

NOTHING = f"The cluster already has PostgreSQL {MAJOR}."
REMOVAL = (
    "The old cluster is kept. People who are erased from now on stay in it: remove it with"
    " `headwater upgrade --remove-old` once all is well."
)


def upgrade(settings: Settings, arguments: Namespace) -> int:
    """Upgrade the stopped data directory, or remove an earlier upgrade's leftovers."""
    keep_private()
    if settings.database_url is not None:
        raise Failure("with HEADWATER_DATABASE_URL, PostgreSQL is yours to upgrade (pg_upgrade)")
    if arguments.remove_old:
        removed_paths = [str(path) for path in remove_kept(settings.data_dir)]
        print_output({"removed": removed_paths}, as_json=arguments.json)
        return 0
    programs = None if arguments.programs is None else Path(arguments.programs).absolute()
    upgraded = upgrade_cluster(settings.data_dir, programs, print_note)
    _print(upgraded, as_json=arguments.json)
    return 0


def _print(upgraded: Upgraded | None, *, as_json: bool) -> None:
    if upgraded is None:
        print_note(NOTHING)
        print_output({"before": MAJOR, "now": MAJOR}, as_json=as_json)
        return
    print_output(
        {
            "before": upgraded.before,
            "now": MAJOR,
            "tables": upgraded.tables,
            "settings_left": upgraded.settings_left,
            "kept": str(upgraded.kept_folder),
        },
        as_json=as_json,
    )
    if upgraded.settings_left:
        print_note("The configuration files are new: the settings named were others before.")
    print_note(REMOVAL)


command = Command(
    upgrade,
    Option("--programs", metavar="FOLDER", help="of the old PostgreSQL, or of the old Headwater"),
    Option("--remove-old", action="store_true", help="remove old clusters"),
    JSON,
)
