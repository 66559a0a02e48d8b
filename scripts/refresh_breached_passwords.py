"""Rebuild src/headwater/spaces/accounts/breached_passwords.txt from a local checkout of its upstream data,
https://github.com/ignis-sec/Pwdb-Public (MIT): the most frequent passwords of a billion breached logins.

    python scripts/refresh_breached_passwords.py CHECKOUT           write the file
    python scripts/refresh_breached_passwords.py CHECKOUT --check   exit with 1 when the file is outdated

The same commit gives the same file. It contains the passwords that are long enough to be accepted here. They
are hashed, because many are obscene. A prefix of 40 bits is enough: it refuses one in 100 million other
passwords.
"""

# ruff: noqa: INP001, T201 # a script on its own, which speaks to a terminal

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from headwater.spaces.accounts.passwords import BREACHED, MIN_LENGTH, hash_breached

UPSTREAM = "wordlists/ignis-100K.txt"
TARGET = Path(__file__).parent.parent / "src" / "headwater" / "spaces" / "accounts" / BREACHED

HEADER = """\
# The most frequent passwords of breached logins with {length} characters or more, in lower case: the first
# ten hexadecimal digits of SHA-256 of each. Written by scripts/refresh_breached_passwords.py; do not edit.
# Origin: ignis-sec/Pwdb-Public, {upstream}, commit {commit}.
# Licence: MIT
#
{licence}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("checkout", type=Path, help="a clone of the upstream repository")
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    arguments = parser.parse_args()
    text = build(arguments.checkout)
    if not arguments.check:
        TARGET.write_text(text, encoding="utf-8")
    elif not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
        print(f"{TARGET} is not what this checkout gives")
        return 1
    return 0


def build(checkout: Path) -> str:
    """Return the whole data file."""
    passwords = read_upstream(checkout, "show", f"HEAD:{UPSTREAM}").splitlines()
    hashes = {hash_breached(password) for password in passwords if len(password) >= MIN_LENGTH}
    licence = read_upstream(checkout, "show", "HEAD:LICENSE").strip().splitlines()
    header = HEADER.format(
        length=MIN_LENGTH,
        upstream=UPSTREAM,
        commit=read_upstream(checkout, "log", "-1", "--format=%H of %cs").strip(),
        licence="\n".join(f"# {line}".rstrip() for line in licence),
    )
    return header + "\n" + "".join(f"{hash_text}\n" for hash_text in sorted(hashes))


def read_upstream(checkout: Path, *arguments: str) -> str:
    command = ["git", "-C", str(checkout), *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout.decode()


if __name__ == "__main__":
    sys.exit(main())
