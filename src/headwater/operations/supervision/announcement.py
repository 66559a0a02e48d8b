"""The output of a start, for terminals and for log readers."""

from __future__ import annotations

import sys
from typing import Any

from headwater.base.log_lines import Log

INVITATION = "Open this link to create the first account. It works once, within a day."
_ADDRESSES = """\
  Console        {0}/console
  API reference  {0}/docs

  Ctrl-C stops the service.

"""


def note(log: Log, event: str, **values: Any) -> None:
    """Write a line for a terminal."""
    if log.is_text:
        log.write("info", event, **values)


def log_migrations(log: Log, names: list[str]) -> None:
    """Log the applied migrations; on a terminal only the last one."""
    if log.is_text and len(names) > 1:
        note(log, "migrated", migrations=len(names), latest=names[-1])
        return
    for name in names:
        log.write("info", "migrated", migration=name)


def greet(log: Log, origin: str, set_up_link: str | None) -> None:
    """Report the address; programs read only the link for the first account."""
    if log.is_text:
        box = "" if set_up_link is None else _boxed(INVITATION, "", set_up_link)
        sys.stderr.write((box or "\n") + _ADDRESSES.format(origin))
        sys.stderr.flush()
    elif set_up_link is not None:
        log.write("info", "set_up", open_once=set_up_link)


def _boxed(*lines: str) -> str:
    """Return lines in a box, in ASCII because terminals use any encoding. An address has its own line, to be
    copied.
    """
    rule = "-" * (max(map(len, lines)) + 4)
    return "\n".join(["", rule, "", *(f"  {line}" for line in lines), "", rule, "", ""])
