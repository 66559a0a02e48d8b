"""Commands in this process: one of their own takes a second of the processor for its imports. They are for
tests of what a command does, not of how it is started and ended.
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


def run_command(*arguments: str, typed: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """One finished command, with these variables alone and `typed` into its standard input."""
    written, told = io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, environment(**variables), clear=True),
        patch.object(sys, "stdin", io.StringIO(typed)),
        redirect_stdout(written),
        redirect_stderr(told),
    ):
        try:
            code = main(arguments)
        except SystemExit as ended:  # how the parser refuses
            code = int(ended.code or 0)
    return subprocess.CompletedProcess(arguments, code, written.getvalue(), told.getvalue())
