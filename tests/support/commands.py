"""Run commands in this process: a new process spends a second of CPU time on imports. For tests of what a
command does, not of how it starts and ends.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from unittest.mock import patch

from headwater.cli import main
from tests.support.processes import environment


def run_command(*arguments: str, stdin: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end with only these variables, and with `typed` as its standard input."""
    output, error_output = io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, environment(**variables), clear=True),
        patch.object(sys, "stdin", io.StringIO(stdin)),
        redirect_stdout(output),
        redirect_stderr(error_output),
    ):
        try:
            code = main(arguments)
        except SystemExit as ended:  # the parser refuses this way
            code = int(ended.code or 0)
    return subprocess.CompletedProcess(arguments, code, output.getvalue(), error_output.getvalue())
