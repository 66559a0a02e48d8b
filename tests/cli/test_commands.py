"""The list of commands: each is in the module it declares, and imports no other command."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.cli import FAILED, OUTPUT_CLOSED, main
from headwater.cli.commands import COMMANDS, CommandEntry, build_parser
from headwater.operations.terminal.command import Command, CommandGroup
from headwater.operations.terminal.execution import prints

IMPORTED = """
import sys
from headwater.cli.commands import build_parser
build_parser(sys.argv[1])
ours = [name for name in sys.modules if name.startswith("headwater.")]
print(*sorted(name for name in ours if name.startswith("headwater.cli.")))
print(len(ours))
"""


def imported_modules(command_word: str) -> tuple[list[str], int]:
    """Return the modules of cli/ that a command imports, and the number of all imported headwater modules."""
    command = [sys.executable, "-c", IMPORTED, command_word]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names, count = output.splitlines()
    return names.split(), int(count)


def test_it_works(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error_info:
        main(["--help"])
    assert error_info.value.code == 0
    page = capsys.readouterr().out
    assert re.findall(r"^    ([a-z]\S*)\s", page, re.MULTILINE) == [entry.name for entry in COMMANDS]
    assert [entry.name for entry in COMMANDS if entry.about not in " ".join(page.split())] == []


def test_output_that_nobody_reads() -> None:
    """`headwater source list | head -1` ends quietly, like other programs."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "headwater", "completion", "bash"]
    ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (OUTPUT_CLOSED, "")


def test_output_without_room(tmp_path: Path) -> None:
    """As on a full disk: `headwater audit export > FILE` must not look complete."""
    command = f"ulimit -f 1; exec {sys.executable} -m headwater completion bash > {tmp_path / 'file'}"
    ended = subprocess.run(["bash", "-c", command], stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == FAILED
    assert len(ended.stderr.splitlines()) == 1


def test_closed_output() -> None:
    """A command does nothing if its output, such as a new key, would be lost."""
    command = f"exec {sys.executable} -m headwater completion bash >&-"
    ended = subprocess.run(["bash", "-c", command], stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == FAILED
    assert len(ended.stderr.splitlines()) == 1


def test_without_a_command_none_is_imported() -> None:
    modules, count = imported_modules("")
    assert modules == ["headwater.cli.commands"]
    assert count < 15


def test_a_command_imports_no_other() -> None:
    assert imported_modules("source")[0] == ["headwater.cli.commands", "headwater.cli.source"]
    assert imported_modules("space")[0] == ["headwater.cli.commands", "headwater.cli.spaces"]


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_each_is_where_it_says(entry: CommandEntry) -> None:
    kind = CommandGroup if entry.place.endswith(":group") else Command
    assert isinstance(entry.load(), kind)


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    groups = [action for action in parser._actions
              if isinstance(action, argparse._SubParsersAction)]  # fmt: skip
    if not groups:
        yield parser
    for group in groups:
        for inner in group.choices.values():
            yield from parsers(inner)


def test_what_prints_does_so_as_json_too() -> None:
    """`prints` reads the option `--json`, so every command with `prints` must have it."""
    code = prints(_empty_text).__code__
    printing_parsers = [
        parser
        for parser in parsers(build_parser())
        if getattr(parser.get_default("run"), "__code__", None) is code
    ]
    assert len(printing_parsers) > 20
    assert [parser.prog for parser in printing_parsers if "--json" not in parser.format_help()] == []


async def _empty_text(*_: object) -> str:
    return ""


def test_a_word_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error_info:
        main(["spaces"])
    assert error_info.value.code == 2
    assert "invalid choice: 'spaces'" in capsys.readouterr().err
