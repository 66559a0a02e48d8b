"""`headwater completion SHELL`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from headwater.cli import main
from headwater.cli.commands import COMMANDS
from headwater.cli.completion import SHELLS
from tests.support.waiting import PATIENCE_SECONDS

REQUIRED = os.environ.get("HEADWATER_TEST_SHELLS") == "required"
ASK = """
eval "$(cat)"
COMP_WORDS=({words}) COMP_CWORD={last} COMP_LINE='{line}' COMP_POINT=${{#COMP_LINE}}
"$(complete -p headwater | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
ASK_FISH = 'source -; complete -C "headwater de"; complete -C "headwater space create --ti"'
ASK_ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; fpath=($PWD $fpath); autoload -U compinit; compinit -u -D; print READY'
while zpty -r shell line; do [[ $line == READY* ]] && break; done
zpty -w -n shell $'headwater de\t\t'
zpty -r shell shown '*destination*--*'
print -r -- "$shown"
zpty -d shell
"""


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def test_it_works(capsys: pytest.CaptureFixture[str]) -> None:
    """Bash itself completes a word, and an option of a command with two words."""
    text = script("bash", capsys)

    def offered_words(line: str) -> list[str]:
        words = line.split(" ")
        script = ASK.format(words=" ".join(f"'{word}'" for word in words), last=len(words) - 1,
                            line=line)  # fmt: skip
        process = subprocess.run(["bash", "-c", script], input=text, capture_output=True, text=True,
                                 check=True)  # fmt: skip
        return process.stdout.split()

    assert sorted(offered_words("headwater de")) == ["delivery", "demo", "destination"]
    assert "--timezone" in offered_words("headwater space create --ti")


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_is_in_it(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = script(shell, capsys)
    assert [entry.name for entry in COMMANDS if entry.name not in text] == []
    assert "--leash" not in text  # used only by our own processes


def find_program(shell: str) -> str:
    program = shutil.which(shell)
    if program is None:
        assert not REQUIRED
        pytest.skip(f"there is no {shell}")
    return program


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_takes_it(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    process = subprocess.run(
        [find_program(shell), "-n"], input=script(shell, capsys), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (process.returncode, process.stderr) == (0, "")


def test_fish_completes(capsys: pytest.CaptureFixture[str]) -> None:
    process = subprocess.run(
        [find_program("fish"), "--no-config", "-c", ASK_FISH], input=script("fish", capsys),
        capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    offers = [line.split("\t")[0] for line in process.stdout.splitlines()]
    assert offers == ["delivery", "demo", "destination", "--timezone"]


def test_zsh_completes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The script is in a folder of $fpath, as documented, and the user presses the tab key."""
    (tmp_path / "_headwater").write_text(script("zsh", capsys))
    process = subprocess.run(
        [find_program("zsh"), "-fc", ASK_ZSH], cwd=tmp_path, capture_output=True, text=True,
        check=True, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    text = re.sub(r"\x1b\[[^A-Za-z]*[A-Za-z]", "", process.stdout)
    assert re.findall(r"^(\w+) +--", text, re.MULTILINE) == ["delivery", "demo", "destination"]


def test_another_shell(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["completion", "tcsh"])
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
