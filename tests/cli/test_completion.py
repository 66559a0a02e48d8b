"""`headwater completion SHELL`."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from headwater.cli import main
from headwater.cli.commands import COMMANDS
from headwater.cli.completion import SHELLS

ASK = """
eval "$(cat)"
COMP_WORDS=({words}) COMP_CWORD={last} COMP_LINE='{line}' COMP_POINT=${{#COMP_LINE}}
"$(complete -p headwater | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def test_it_works(capsys: pytest.CaptureFixture[str]) -> None:
    """Bash itself completes a word, and an option of a command behind two words."""
    text = script("bash", capsys)

    def offered(line: str) -> list[str]:
        words = line.split(" ")
        asked = ASK.format(words=" ".join(f"'{word}'" for word in words), last=len(words) - 1,
                           line=line)  # fmt: skip
        ran = subprocess.run(["bash", "-c", asked], input=text, capture_output=True, text=True,
                             check=True)  # fmt: skip
        return ran.stdout.split()

    assert sorted(offered("headwater de")) == ["delivery", "demo", "destination"]
    assert "--timezone" in offered("headwater space create --ti")


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_is_in_it(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = script(shell, capsys)
    assert [entry.name for entry in COMMANDS if entry.name not in text] == []
    assert "--leash" not in text  # what only our own processes use


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_takes_it(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell}")
    checked = subprocess.run(
        [program, "-n"], input=script(shell, capsys), capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_another_shell(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["completion", "tcsh"])
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
