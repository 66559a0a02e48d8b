"""Log lines are text for people if standard error is a terminal, and JSON otherwise."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from headwater.base.log_lines import as_text
from tests.support.processes import environment, run_at_terminal

WRITE = """
from headwater.base.log_lines import Log
log = Log("auto")
log.write("info", "migrated", migrations=24)
log.write("warning", "database_unavailable", error="two words", seconds=1.5)
log.write("error", "Somebody's own_sentence stays", empty="")
"""
CONFIGURE = """
import logging, sys, structlog
from headwater.base import logs
logs.configure(sys.argv[1], "auto")
logging.getLogger("uvicorn.error").info("Started server process [%d]", 7)
logging.getLogger("uvicorn.error").warning("Something else")
structlog.get_logger().warning("space_is_late", space_id=1)
"""

WARN = """
import warnings
from headwater.base import logs
logs.configure("warning", "json")
warnings.warn("an old name", DeprecationWarning, stacklevel=1)
"""


def run_logged(program: str, *arguments: str, **variables: str) -> str:
    """Run a program at a terminal with colours, and return its output."""
    look = {"TERM": "xterm-256color", "NO_COLOR": ""} | variables
    return run_at_terminal("-c", program, *arguments, **look)


def test_it_works() -> None:
    lines = re.sub(r"^\d\d:\d\d:\d\d", "time", run_logged(WRITE), flags=re.MULTILINE)
    assert lines.splitlines() == [
        "time info     migrated  migrations=24",
        'time \x1b[33mwarning\x1b[0m  database unavailable  error="two words"  seconds=1.5',
        'time \x1b[31merror\x1b[0m    Somebody\'s own_sentence stays  empty=""',
    ]


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_colour_can_be_turned_off(variable: dict[str, str]) -> None:
    coloured_output = run_logged(WRITE)
    plain = run_logged(WRITE, **variable)
    assert "\x1b" not in plain
    without = re.sub(r"\x1b\[\d*m", "", coloured_output)
    assert [line[8:] for line in without.splitlines()] == [line[8:] for line in plain.splitlines()]


def test_programs_read_json() -> None:
    result = subprocess.run(
        [sys.executable, "-c", WRITE], capture_output=True, text=True, check=True,
        env=environment(TERM="xterm-256color"),
    )  # fmt: skip
    events = [json.loads(line)["event"] for line in result.stderr.splitlines()]
    assert events == ["migrated", "database_unavailable", "Somebody's own_sentence stays"]


def test_the_server_processes_of_a_service_are_no_news_for_people() -> None:
    assert "Started" not in run_logged(CONFIGURE, "info")
    assert "Something else" in run_logged(CONFIGURE, "info")
    assert "space is late  space_id=1" in run_logged(CONFIGURE, "info")
    assert "Started server process [7]" in run_logged(CONFIGURE, "debug")
    result = subprocess.run(
        [sys.executable, "-c", CONFIGURE, "info"], capture_output=True, text=True, check=True,
        env=environment(),
    )  # fmt: skip
    assert "Started server process [7]" in result.stderr


def test_a_warning_of_a_library_is_a_line_of_the_log() -> None:
    result = subprocess.run(
        [sys.executable, "-W", "always", "-c", WARN], capture_output=True, text=True, check=True,
        env=environment(),
    )  # fmt: skip
    (line,) = [json.loads(text) for text in result.stderr.splitlines()]
    assert line["level"] == "warning"
    assert "DeprecationWarning: an old name" in line["event"]


def test_a_traceback_stands_below_and_nothing_drives_the_terminal() -> None:
    line = {
        "event": "failed\x1b[2J", "level": "error", "timestamp": "2026-11-22T10:00:00Z",
        "forged": "a\nb", "exception": "Traceback:\n  \x1b]0;title",
    }  # fmt: skip
    first, *traceback_lines = as_text(line).split("\n")
    assert first.endswith("error    failed\\x1b[2J  forged=a\\nb")
    assert traceback_lines == ["    Traceback:", "      \\x1b]0;title"]
